"""The nouns. A line: English (singular/plural where irregular) | gender and French | gender and German | classes.

Plurals of French are given where irregular, those of German always ("*" marks weak nouns, no plural a mass noun).
Sex follows from the classes "he" and "she"; all else is "it".
"""

NOUNS = """
mother | f mère | f Mutter/Mütter | human kin she
father | m père | m Vater/Väter | human kin he
brother | m frère | m Bruder/Brüder | human kin he
sister | f sœur | f Schwester/Schwestern | human kin she
son | m fils | m Sohn/Söhne | human kin he
daughter | f fille | f Tochter/Töchter | human kin she
uncle | m oncle | m Onkel/Onkel | human kin he
aunt | f tante | f Tante/Tanten | human kin she
grandmother | f grand-mère/grands-mères | f Großmutter/Großmütter | human kin she
grandfather | m grand-père/grands-pères | m Großvater/Großväter | human kin he
nephew | m neveu/neveux | m Neffe*/Neffen | human kin he
niece | f nièce | f Nichte/Nichten | human kin she
friend | m ami | m Freund/Freunde | human kin he
neighbour | m voisin | m Nachbar*/Nachbarn | human kin he
colleague | m collègue | m Kollege*/Kollegen | human kin he
man/men | m homme | m Mann/Männer | human person he
woman/women | f femme | f Frau/Frauen | human person she
boy | m garçon | m Junge*/Jungen | human person child he
child/children | m enfant | n Kind/Kinder | human person child
doctor | m médecin | m Arzt/Ärzte | human person worker he
teacher | m professeur | m Lehrer/Lehrer | human person worker he
student | m étudiant | m Student*/Studenten | human person he
pupil | m élève | m Schüler/Schüler | human person child he
baker | m boulanger | m Bäcker/Bäcker | human person worker he
farmer | m agriculteur | m Landwirt/Landwirte | human person worker he
gardener | m jardinier | m Gärtner/Gärtner | human person worker he
painter | m peintre | m Maler/Maler | human person worker artist he
engineer | m ingénieur | m Ingenieur/Ingenieure | human person worker he
lawyer | m avocat | m Anwalt/Anwälte | human person worker he
cook | m cuisinier | m Koch/Köche | human person worker he
waiter | m serveur | m Kellner/Kellner | human person worker he
waitress | f serveuse | f Kellnerin/Kellnerinnen | human person worker she
actor | m acteur | m Schauspieler/Schauspieler | human person worker artist he
actress | f actrice | f Schauspielerin/Schauspielerinnen | human person worker artist she
musician | m musicien | m Musiker/Musiker | human person worker artist he
writer | m écrivain | m Schriftsteller/Schriftsteller | human person worker artist he
journalist | m journaliste | m Journalist*/Journalisten | human person worker he
policeman/policemen | m policier | m Polizist*/Polizisten | human person worker he
tourist | m touriste | m Tourist*/Touristen | human person he
guest | m invité | m Gast/Gäste | human person he
driver | m chauffeur | m Fahrer/Fahrer | human person worker he
postman/postmen | m facteur | m Briefträger/Briefträger | human person worker he
mayor | m maire | m Bürgermeister/Bürgermeister | human person worker he
hairdresser | m coiffeur | m Friseur/Friseure | human person worker he
butcher | m boucher | m Metzger/Metzger | human person worker he
dog | m chien | m Hund/Hunde | animal pet seen heard drawn lost
cat | m chat | f Katze/Katzen | animal pet seen heard drawn lost
horse | m cheval | n Pferd/Pferde | animal big seen heard drawn
cow | f vache | f Kuh/Kühe | animal big seen heard drawn
bird | m oiseau | m Vogel/Vögel | animal seen heard drawn
sheep/sheep | m mouton | n Schaf/Schafe | animal seen heard drawn
pig | m cochon | n Schwein/Schweine | animal seen heard drawn
hen | f poule | n Huhn/Hühner | animal seen heard drawn
mouse/mice | f souris | f Maus/Mäuse | animal seen heard drawn
rabbit | m lapin | n Kaninchen/Kaninchen | animal pet seen drawn
duck | m canard | f Ente/Enten | animal seen heard drawn
goat | f chèvre | f Ziege/Ziegen | animal seen heard drawn
donkey | m âne | m Esel/Esel | animal big seen heard drawn
apple | f pomme | m Apfel/Äpfel | food fruit cut bought
pear | f poire | f Birne/Birnen | food fruit cut bought
orange | f orange | f Orange/Orangen | food fruit cut bought
banana | f banane | f Banane/Bananen | food fruit cut bought
strawberry | f fraise | f Erdbeere/Erdbeeren | food fruit bought many
cherry | f cerise | f Kirsche/Kirschen | food fruit bought many
plum | f prune | f Pflaume/Pflaumen | food fruit bought many
tomato/tomatoes | f tomate | f Tomate/Tomaten | food fruit cut bought planted
potato/potatoes | f pomme de terre/pommes de terre | f Kartoffel/Kartoffeln | food cut bought cooked planted many
carrot | f carotte | f Karotte/Karotten | food cut bought cooked planted many
onion | m oignon | f Zwiebel/Zwiebeln | food cut bought
egg | m œuf | n Ei/Eier | food bought many
cake | m gâteau | m Kuchen/Kuchen | food dish cut bought ordered
biscuit | m biscuit | m Keks/Kekse | food bought many
bread | m pain | n Brot | mass food cut bought
cheese | m fromage | m Käse | mass food dish cut bought
butter | m beurre | f Butter | mass food bought
meat | f viande | n Fleisch | mass food dish cut bought cooked ordered
rice | m riz | m Reis | mass food dish bought cooked
ham | m jambon | m Schinken | mass food dish cut bought
honey | m miel | m Honig | mass food bought
chocolate | m chocolat | f Schokolade | mass food bought
soup | f soupe | f Suppe/Suppen | mass food dish cooked ordered
jam | f confiture | f Marmelade | mass food bought
water | f eau | n Wasser | mass drink
coffee | m café | m Kaffee | mass drink hot bought ordered
tea | m thé | m Tee | mass drink hot bought ordered
milk | m lait | f Milch | mass drink bought
wine | m vin | m Wein | mass drink bought ordered alcohol
beer | f bière | n Bier | mass drink bought ordered alcohol
lemonade | f limonade | f Limonade | mass drink ordered
book | m livre | n Buch/Bücher | thing read text bought lent long lost
newspaper | m journal | f Zeitung/Zeitungen | thing read bought lost
letter | f lettre | m Brief/Briefe | thing read text written sent signed long lost
novel | m roman | m Roman/Romane | thing read text written bought lent long
poem | m poème | n Gedicht/Gedichte | thing read text written learnt long
article | m article | m Artikel/Artikel | thing read text written long
report | m rapport | m Bericht/Berichte | thing read text written signed sent long
postcard | f carte postale/cartes postales | f Postkarte/Postkarten | thing read written sent bought
magazine | m magazine | f Zeitschrift/Zeitschriften | thing read bought lent
dictionary | m dictionnaire | n Wörterbuch/Wörterbücher | thing bought lent lost owned
message | m message | f Nachricht/Nachrichten | read text written sent
contract | m contrat | m Vertrag/Verträge | thing read text signed sent
recipe | f recette | n Rezept/Rezepte | read text
map | f carte | f Karte/Karten | thing bought lent drawn lost shown
coat | m manteau | m Mantel/Mäntel | thing worn bought coloured lost owned
shirt | f chemise | n Hemd/Hemden | thing worn bought coloured washed
dress | f robe | n Kleid/Kleider | thing worn bought coloured washed
hat | m chapeau | m Hut/Hüte | thing worn bought coloured lost owned
scarf/scarves | f écharpe | m Schal/Schals | thing worn bought coloured lost washed
jacket | f veste | f Jacke/Jacken | thing worn bought coloured lost
skirt | f jupe | m Rock/Röcke | thing worn bought coloured washed
jumper | m pull | m Pullover/Pullover | thing worn bought coloured washed
tie | f cravate | f Krawatte/Krawatten | thing worn bought coloured
shoe | f chaussure | m Schuh/Schuhe | thing worn bought coloured cleaned pair lost
glove | m gant | m Handschuh/Handschuhe | thing worn bought coloured pair lost
boot | f botte | m Stiefel/Stiefel | thing worn bought coloured cleaned pair
umbrella | m parapluie | m Regenschirm/Regenschirme | thing bought coloured lost lent owned
bag | m sac | f Tasche/Taschen | thing bought coloured carried opened lost
watch | f montre | f Uhr/Uhren | thing bought repaired lost owned
ring | f bague | m Ring/Ringe | thing bought lost owned
door | f porte | f Tür/Türen | opened coloured painted part
window | f fenêtre | n Fenster/Fenster | opened cleaned part
box | f boîte | f Schachtel/Schachteln | thing opened carried coloured
bottle | f bouteille | f Flasche/Flaschen | thing opened
suitcase | f valise | m Koffer/Koffer | thing opened carried coloured bought lost
drawer | m tiroir | f Schublade/Schubladen | opened part
parcel | m colis | n Paket/Pakete | thing opened carried sent
key | f clé | m Schlüssel/Schlüssel | thing lost small
lamp | f lampe | f Lampe/Lampen | thing device bought repaired
candle | f bougie | f Kerze/Kerzen | thing bought coloured
mirror | m miroir | m Spiegel/Spiegel | thing bought cleaned broken
painting | m tableau | n Gemälde/Gemälde | thing shown hung sold
photo | f photo | n Foto/Fotos | thing shown sent
vase | m vase | f Vase/Vasen | thing bought coloured broken
cup | f tasse | f Tasse/Tassen | thing coloured broken washed
glass | m verre | n Glas/Gläser | thing broken washed
plate | f assiette | m Teller/Teller | thing coloured broken washed
knife/knives | m couteau | n Messer/Messer | thing bought lost
spoon | f cuillère | m Löffel/Löffel | thing bought
basket | m panier | m Korb/Körbe | thing carried bought
toy | m jouet | n Spielzeug/Spielzeuge | thing bought coloured repaired
ball | m ballon | m Ball/Bälle | thing bought lost
doll | f poupée | f Puppe/Puppen | thing bought
camera | m appareil photo/appareils photo | f Kamera/Kameras | thing bought lost lent device repaired
computer | m ordinateur | m Computer/Computer | thing bought device repaired
radio | f radio | n Radio/Radios | thing bought device repaired
television | f télévision | m Fernseher/Fernseher | thing bought device repaired
telephone | m téléphone | n Telefon/Telefone | thing bought lost repaired
pencil | m crayon | m Bleistift/Bleistifte | thing bought lent lost coloured
table | f table | m Tisch/Tische | thing furniture bought repaired painted cleaned
chair | f chaise | m Stuhl/Stühle | thing furniture seat bought repaired painted
bed | m lit | n Bett/Betten | furniture seat bought
sofa | m canapé | n Sofa/Sofas | furniture seat bought coloured owned
wardrobe | f armoire | m Schrank/Schränke | furniture bought opened owned
shelf/shelves | f étagère | n Regal/Regale | furniture bought repaired
carpet | m tapis | m Teppich/Teppiche | thing bought coloured cleaned
hammer | m marteau | m Hammer/Hämmer | thing bought lent lost
ladder | f échelle | f Leiter/Leitern | thing bought lent carried owned
ticket | m billet | f Fahrkarte/Fahrkarten | thing bought lost shown
coin | f pièce | f Münze/Münzen | thing lost small
stamp | m timbre | f Briefmarke/Briefmarken | thing bought small
present | m cadeau | n Geschenk/Geschenke | thing bought opened sent
flower | f fleur | f Blume/Blumen | plant bought coloured drawn planted
rose | f rose | f Rose/Rosen | plant bought coloured planted drawn
passport | m passeport | m Pass/Pässe | thing lost shown
car | f voiture | n Auto/Autos | vehicle driven bought coloured washed repaired owned
bicycle | m vélo | n Fahrrad/Fahrräder | vehicle bought coloured repaired lent cleaned owned
bus | m bus | m Bus/Busse | vehicle driven awaited
train | m train | m Zug/Züge | vehicle awaited
plane | m avion | n Flugzeug/Flugzeuge | vehicle
boat | m bateau | n Boot/Boote | vehicle bought repaired painted built owned
lorry | m camion | m Lastwagen/Lastwagen | vehicle driven washed repaired
house | f maison | n Haus/Häuser | building built bought painted home coloured drawn owned
church | f église | f Kirche/Kirchen | building visited seen built
museum | m musée | n Museum/Museen | building visited seen built
castle | m château | n Schloss/Schlösser | building visited seen
bridge | m pont | f Brücke/Brücken | building built seen narrow long
tower | f tour | m Turm/Türme | building visited built seen high
hotel | m hôtel | n Hotel/Hotels | building built seen
theatre | m théâtre | n Theater/Theater | building built seen
library | f bibliothèque | f Bibliothek/Bibliotheken | building visited seen
school | f école | f Schule/Schulen | building built visited seen
hospital | m hôpital | n Krankenhaus/Krankenhäuser | building built seen
station | f gare | m Bahnhof/Bahnhöfe | building built seen
restaurant | m restaurant | n Restaurant/Restaurants | building seen
bakery | f boulangerie | f Bäckerei/Bäckereien | building seen
garden | m jardin | m Garten/Gärten | place visited seen
kitchen | f cuisine | f Küche/Küchen | room cleaned painted
bedroom | f chambre | n Schlafzimmer/Schlafzimmer | room painted
bathroom | f salle de bains/salles de bains | n Badezimmer/Badezimmer | room cleaned painted
village | m village | n Dorf/Dörfer | place visited seen
town | f ville | f Stadt/Städte | place visited seen
street | f rue | f Straße/Straßen | place narrow long
river | f rivière | m Fluss/Flüsse | place seen deep narrow long
lake | m lac | m See/SourceAttention | place seen deep
mountain | f montagne | m Berg/Berge | seen high drawn
tree | m arbre | m Baum/Bäume | plant seen drawn planted high
wall | m mur | f Mauer/Mauern | built painted coloured high long
question | f question | f Frage/Fragen | idea understood answered asked long
answer | f réponse | f Antwort/Antworten | idea understood
problem | m problème | n Problem/Probleme | idea understood solved
story | f histoire | f Geschichte/Geschichten | idea understood told text long
plan | m projet | m Plan/Pläne | idea understood explained
mistake | f erreur | m Fehler/Fehler | found corrected
song | f chanson | n Lied/Lieder | sung heard learnt written text
rule | f règle | f Regel/Regeln | idea understood learnt explained
lesson | f leçon | f Lektion/Lektionen | idea understood learnt explained
exercise | m exercice | f Übung/Übungen | idea understood explained corrected
film | m film | m Film/Filme | idea seen long
birthday | m anniversaire | m Geburtstag/Geburtstage | day
exam | m examen | f Prüfung/Prüfungen | idea prepared
journey | m voyage | f Reise/Reisen | prepared long
meeting | f réunion | f Besprechung/Besprechungen | prepared long
speech/speeches | m discours | f Rede/Reden | prepared written heard long text idea
"""
