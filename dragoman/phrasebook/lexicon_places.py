"""Where things happen and where people go. A line: name | English | French | German, with aligned parts."""

from __future__ import annotations

LOCATIONS = """
garden | in/p the/d garden/n | dans/p le/d jardin/n | im/p/d Garten/n
kitchen | in/p the/d kitchen/n | dans/p la/d cuisine/n | in/p der/d Küche/n
salon | in/p the/d living/n room/n | dans/p le/d salon/n | im/p/d Wohnzimmer/n
balcony | on/p the/d balcony/n | sur/p le/d balcon/n | auf/p dem/d Balkon/n
home | at/p home/n | à/p la/n maison/n | zu/p Hause/n
park | in/p the/d park/n | dans/p le/d parc/n | im/p/d Park/n
forest | in/p the/d forest/n | dans/p la/d forêt/n | im/p/d Wald/n
beach | on/p the/d beach/n | sur/p la/d plage/n | am/p/d Strand/n
lake | by/p the/d lake/n | au/p bord/p du/p/d lac/n | am/p/d See/n
sea | by/p the/d sea/n | au/p bord/p de/p la/d mer/n | am/p/d Meer/n
street | in/p the/d street/n | dans/p la/d rue/n | auf/p der/d Straße/n
church | in/p front/p of/p the/d church/n | devant/p la/d église/n | vor/p der/d Kirche/n
museum | in/p front/p of/p the/d museum/n | devant/p le/d musée/n | vor/p dem/d Museum/n
house | behind/p the/d house/n | derrière/p la/d maison/n | hinter/p dem/d Haus/n
tree | under/p the/d tree/n | sous/p le/d arbre/n | unter/p dem/d Baum/n
library | in/p the/d library/n | à/p la/d bibliothèque/n | in/p der/d Bibliothek/n
station | at/p the/d station/n | à/p la/d gare/n | am/p/d Bahnhof/n
market | at/p the/d market/n | au/p/d marché/n | auf/p dem/d Markt/n
restaurant | at/p the/d restaurant/n | au/p/d restaurant/n | im/p/d Restaurant/n
hotel | at/p the/d hotel/n | à/p le/d hôtel/n | im/p/d Hotel/n
office | at/p the/d office/n | au/p/d bureau/n | im/p/d Büro/n
school | at/p school/n | à/p la/d école/n | in/p der/d Schule/n
train | on/p the/d train/n | dans/p le/d train/n | im/p/d Zug/n
village | in/p the/d village/n | dans/p le/d village/n | im/p/d Dorf/n
town | in/p the/d town/n | dans/p la/d ville/n | in/p der/d Stadt/n
this street | in/p this/d street/n | dans/p cette/d rue/n | in/p dieser/d Straße/n
hospital | in/p hospital/n | à/p le/d hôpital/n | im/p/d Krankenhaus/n
"""
DIRECTIONS = """
market | to/p the/d market/n | au/p/d marché/n | zum/p/d Markt/n
station | to/p the/d station/n | à/p la/d gare/n | zum/p/d Bahnhof/n
bank | to/p the/d bank/n | à/p la/d banque/n | zur/p/d Bank/n
bakery | to/p the/d bakery/n | à/p la/d boulangerie/n | zur/p/d Bäckerei/n
pharmacy | to/p the/d pharmacy/n | à/p la/d pharmacie/n | zur/p/d Apotheke/n
library | to/p the/d library/n | à/p la/d bibliothèque/n | in/p die/d Bibliothek/n
museum | to/p the/d museum/n | au/p/d musée/n | ins/p/d Museum/n
theatre | to/p the/d theatre/n | au/p/d théâtre/n | ins/p/d Theater/n
cinema | to/p the/d cinema/n | au/p/d cinéma/n | ins/p/d Kino/n
restaurant | to/p the/d restaurant/n | au/p/d restaurant/n | ins/p/d Restaurant/n
office | to/p the/d office/n | au/p/d bureau/n | ins/p/d Büro/n
beach | to/p the/d beach/n | à/p la/d plage/n | an/p den/d Strand/n
park | to/p the/d park/n | au/p/d parc/n | in/p den/d Park/n
school | to/p school/n | à/p la/d école/n | in/p die/d Schule/n
doctor | to/p the/d doctor/n | chez/p le/d médecin/n | zum/p/d Arzt/n
hairdresser | to/p the/d hairdresser/n | chez/p le/d coiffeur/n | zum/p/d Friseur/n
neighbours | to/p the/d neighbours/n | chez/p les/d voisins/n | zu/p den/d Nachbarn/n
"""
PLACES_OF = {  # verb: where it is done
    "sleep": "garden salon beach train hotel tree home balcony",
    "work": "office garden kitchen library hotel restaurant home market station",
    "rest": "garden salon beach tree home balcony lake sea park",
    "stay": "home hotel hospital garden",
    "wait": "station church museum house hotel office street",
    "sing": "park garden street kitchen beach salon church",
    "dance": "park garden street kitchen beach salon",
    "cook": "home restaurant",
    "go =for/n a/n walk/n": "park forest beach lake sea",
    "go =shopping/n": "market",
    "have =breakfast/n": "hotel home kitchen balcony garden train",
    "arrive": "station hotel office school",
    "read": "library park garden train home beach salon balcony tree",
    "write": "library salon train home garden office",
    "eat": "restaurant kitchen garden park train home balcony beach",
    "drink": "restaurant kitchen garden park train home balcony hotel",
    "meet": "park station hotel restaurant church museum market street library train beach",
    "look +for": "garden kitchen salon office home beach",
    "wash": "garden kitchen house home",
    "cut": "kitchen garden home",
    "see": "park station market street beach train",
    "lose": "street park train beach forest market",
    "forget": "train restaurant hotel office school library",
    "hide": "garden kitchen salon forest house",
    "order": "restaurant hotel",
    "draw": "garden park forest school",
    "learn": "school home",
    "call": "home office",
    "repair": "garden home house",
    "play =football/n": "park garden beach street",
    "play =tennis/n": "park",
    "play =cards/n": "kitchen salon train hotel garden",
    "play =chess/n": "park salon garden library",
    "ride =a/p bicycle/n": "park forest street",
}
CONTENTS = {  # what there is where
    "garden": "tree flower rose",
    "kitchen": "table chair radio shelf wardrobe",
    "salon": "sofa carpet lamp television painting mirror",
    "park": "tree bird duck castle restaurant",
    "this street": "hotel theatre bakery restaurant school library",
    "village": "church school bakery restaurant castle hotel",
    "town": "theatre hotel museum library hospital church station bridge",
    "station": "restaurant bakery",
}
PREPOSITIONS = {  # English: French, German, on or in what
    "in": ("dans", "in", "box drawer bag suitcase basket wardrobe kitchen bedroom bathroom garden car"),
    "on": ("sur", "auf", "table chair shelf bed sofa carpet"),
    "under": ("sous", "unter", "table bed chair sofa wardrobe"),
    "behind": ("derrière", "hinter", "door sofa wardrobe house tree"),
    "next to": ("à côté de", "neben", "lamp door window bed sofa wardrobe mirror"),
    "in front of": ("devant", "vor", "door window house church hotel"),
}
SMALL = (
    "book newspaper letter key pencil umbrella bag hat glove ball toy doll parcel present cup vase plate knife camera"
)
LARGE = "cat dog bicycle"
FURNITURE = set(  # and rooms: where small things are
    "box drawer bag suitcase basket wardrobe kitchen bedroom bathroom car table chair shelf bed sofa carpet lamp window"
    " mirror".split()
)
TARGETS = {  # how it is put: where to
    "put:lay": (
        ("on", "table chair shelf bed sofa"), ("in", "box drawer bag suitcase basket"), ("next to", "lamp bed"),
        ("under", "bed"),
    ),
    "put:stand": (
        ("on", "table shelf"), ("next to", "lamp door window bed sofa wardrobe"), ("in front of", "door window"),
        ("under", "table"), ("behind", "door sofa"),
    ),
}  # fmt: skip
