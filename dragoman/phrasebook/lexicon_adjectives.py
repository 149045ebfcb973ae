"""The adjectives. A line: English | French (masculine/feminine/before a vowel) | German (stem/comparative) | of what.

"<" marks French adjectives that stand before the noun. Forms are given where irregular. The last column names the
classes of nouns that the adjective is said of; "-class" excepts one. "predicate"
means that it only follows "to be", "attribute" that it never does.
"""

ADJECTIVES = """
small | < petit | klein | thing animal building place child furniture vehicle room plant device -small -big
big | < grand | groß//größer | thing animal building furniture vehicle room plant -small -worn -device
tall | < grand | groß//größer | person -child
old | < vieux/vieille/vieil | alt//älter | person thing building furniture vehicle place -child -food
young | < jeune | jung//jünger | person -child
beautiful | < beau/belle/bel | schön | building place worn coloured plant sung shown -cleaned -part
pretty | < joli | hübsch | worn plant place home sung -pair
good | < bon | gut//besser | text worker film plan answer question dish drink fruit read
bad | < mauvais | schlecht//schlechter | text film plan answer
new | < nouveau/nouvelle/nouvel | neu | thing worker vehicle building furniture solved long explained -lost attribute
long | < long/longue | lang//länger | long
short | court | kurz//kürzer | long skirt dress -street -river -wall -bridge -novel
red | rouge | rot//roter | coloured
blue | bleu | blau | coloured -plant
green | vert | grün | coloured -plant
white | blanc/blanche | weiß | coloured
black | noir | schwarz//schwärzer | coloured -plant
yellow | jaune | gelb | coloured
grey | gris | grau | coloured -plant
brown | brun | braun | coloured -plant
expensive | cher/chère | teuer/teur/teurer | bought drink -pair -small -lent -planted -many
heavy | lourd | schwer | carried furniture dictionary hammer ladder television
light | léger/légère | leicht | carried jacket shoe coat scarf jumper -parcel
empty | vide | leer | box bottle suitcase drawer wardrobe bag basket glass cup plate
full | plein | voll | box bottle suitcase drawer wardrobe bag basket glass cup predicate
clean | propre | sauber | worn room washed cleaned -pair predicate
dirty | sale | schmutzig | worn room washed cleaned
broken | cassé | kaputt | device broken repaired -furniture predicate
cold | froid | kalt//kälter | drink soup rice meat predicate
hot | chaud | heiß | hot soup rice meat predicate
warm | chaud | warm//wärmer | worn room -tie
fresh | frais/fraîche | frisch | fruit cut -cheese
ripe | mûr | reif | fruit
sweet | sucré | süß | fruit
delicious | délicieux | köstlich | dish fruit drink -mass
interesting | intéressant | interessant | text read idea visited
boring | ennuyeux | langweilig | text read long film village -place -high -home
difficult | difficile | schwierig | learnt explained solved idea long -film -sung
easy | facile | einfach | learnt explained -sung
important | important | wichtig | text idea prepared -film -sung
famous | célèbre | berühmt | artist building shown visited sung
funny | drôle | lustig | text film told child sung
sad | triste | traurig | text film told sung human -signed
happy | heureux | glücklich | human
tired | fatigué | müde | human
ill | malade | krank//kränker | human pet predicate
friendly | aimable | freundlich | person kin
polite | poli | höflich | person kin
clever | intelligent | klug//klüger | human pet
rich | riche | reich | person kin -child
patient | patient | geduldig | worker kin
shy | timide | schüchtern | child person
brave | courageux | mutig | human
lazy | paresseux | faul | pet child person
nervous | nerveux | nervös | human
proud | fier/fière | stolz | human predicate
strong | fort | stark//stärker | big alcohol hot person -big
calm | calme | ruhig | place human -narrow
dark | sombre | dunkel/dunkl/dunkler | room place -seen
bright | clair | hell | room
modern | moderne | modern | building furniture
round | rond | rund | mirror table
wide | large | breit | narrow bed
narrow | étroit | schmal | narrow
deep | profond | tief | deep
high | < haut | hoch/hoh/höher | high
elegant | élégant | elegant | worn -pair
comfortable | confortable | bequem | seat
dangerous | dangereux | gefährlich | journey narrow
useful | utile | nützlich | lent explained
strange | étrange | seltsam | told text idea
secret | secret/secrète | geheim | message explained
French | français | französisch | read text drink sung cheese film
English | anglais | englisch | read text sung
German | allemand | deutsch | read text device car film sung
Italian | italien | italienisch | read worn drink car sung restaurant ham film
Spanish | espagnol | spanisch | read text wine sung ham fruit film
"""
