"""The verbs. A line: English | French | German | classes of subjects | classes of objects | flags.

"~on" is a particle that the object may separate from its verb, "+for" the preposition of the object, "=for a walk"
words that always follow. German "an|rufen" is separable; "+dat" and "+auf acc" give the case of the object.
Flags: "stative" (no progressive), "punctual" (not said of the present),
"steady" (said of the present only), "definite", "indefinite" (what its object must be),
"daily" (no times that are far off), "habit" (done regularly), "any" (denied of things that one does not have),
"slow" (no near times), "accident" (past only), "timeless" (no future: "is going to work" has two meanings).
"""

TRANSITIVE = """
read | lire | lesen | human | read text -song | any
write | écrire | schreiben | human | written | any
buy | acheter | kaufen | human | bought | any
sell | vendre | verkaufen | human | bought sold | any
eat | manger | essen | human | food | daily any
drink | boire | trinken | human | drink | daily any
see | voir | sehen | human | seen human | stative any
hear | entendre | hören | human | heard human | stative daily any
listen +to | écouter | zu|hören +dat | human | human | definite daily
look +for | chercher | suchen | human | lost human | definite daily
find | trouver | finden | human | lost found | punctual definite
lose | perdre | verlieren | human | lost | punctual definite accident
open | ouvrir | öffnen | human | opened | definite daily
close | fermer | schließen | human | opened | definite daily
repair | réparer | reparieren | human | repaired device | -
clean | nettoyer | putzen | human | cleaned | definite
wash | laver | waschen | human | washed | definite daily
build | construire | bauen | human | built | slow
visit:place | visiter | besichtigen | human | visited | definite
visit:person | rendre =visite +à | besuchen | human | kin | definite
wait +for | attendre | warten +auf acc | human | human awaited | definite daily
help | aider | helfen +dat | human | human | definite
know | connaître | kennen | human | human told visited | stative steady definite
call | appeler | an|rufen | human | human | definite
thank | remercier | danken +dat | human | human | definite
meet | rencontrer | treffen | human | human | punctual
invite | inviter | ein|laden | human | kin human | punctual definite
carry | porter | tragen | human | carried | -
wear | porter | tragen | human | worn | daily any
put ~on | mettre | an|ziehen | human | worn -hat -tie -scarf | definite daily
take ~off | enlever | aus|ziehen | human | worn -hat -tie -scarf | definite daily
turn ~on | allumer | ein|schalten | human | device | definite daily
turn ~off | éteindre | aus|schalten | human | device | definite daily
prepare | préparer | vor|bereiten | human | prepared | definite
cook | préparer | kochen | human | cooked | daily daily
cut | couper | schneiden | human | cut | daily
taste | goûter | probieren | human | food drink | daily
order | commander | bestellen | human | ordered | any
choose | choisir | aus|suchen | human | worn bought shown | -
draw | dessiner | zeichnen | human | drawn | -
paint | peindre | streichen | human | painted | -
sing | chanter | singen | human | sung | daily
learn | apprendre | lernen | human | learnt | definite
understand | comprendre | verstehen | human | understood | stative definite
forget | oublier | vergessen | human | lost explained learnt | punctual definite accident
answer | répondre +à | beantworten | human | answered | definite
think +about | penser +à | denken +an acc | human | human exam journey | definite daily timeless
translate | traduire | übersetzen | human | text | -
sign | signer | unterschreiben | human | signed | -
correct | corriger | korrigieren | human | corrected | definite
solve | résoudre | lösen | human | solved | punctual definite
explain | expliquer | erklären | human | explained | definite
hide | cacher | verstecken | human | small present hung letter bottle | definite
drive | conduire | fahren | human | driven | definite
plant | planter | pflanzen | human | planted | any
water | arroser | gießen | human | plant | definite daily
feed | nourrir | füttern | human | animal | definite daily
follow | suivre | folgen +dat | human | human | definite daily
look +at | regarder | betrachten | human | shown seen | definite daily
receive | recevoir | bekommen | human | sent signed present | punctual any
break | casser | zerbrechen | human | broken | punctual accident
have | avoir | haben | human | pet device owned | stative steady indefinite
"""

DITRANSITIVE = """
give | donner | geben | human | carried lost sent shown bought -lent -food -drink -furniture | -
show | montrer | zeigen | human | shown lost read drawn -animal | -
send | envoyer | schicken | human | sent | -
lend | prêter | leihen | human | lent | -
bring | apporter | bringen | human | carried lost dish drink -animal | -
tell | raconter | erzählen | human | story | -
"""

INTRANSITIVE = """
sleep | dormir | schlafen | human animal | - | daily
work | travailler | arbeiten | human | - | habit timeless
rest | se reposer | sich aus|ruhen | human | - | daily habit
get ~up | se lever | auf|stehen | human | - | daily
wake ~up | se réveiller | auf|wachen | human | - | punctual daily
fall =asleep | s'endormir | ein|schlafen | human | - | punctual daily
arrive | arriver | an|kommen | human | - | punctual
leave | partir | gehen | human | - | -
come =back | revenir | zurück|kommen | human | - | -
stay | rester | bleiben | human | - | -
wait | attendre | warten | human | - | daily
laugh | rire | lachen | human | - | daily
cry | pleurer | weinen | human | - | daily
smile | sourire | lächeln | human | - | daily
sing | chanter | singen | human | - | daily
dance | danser | tanzen | human | - | habit
cook | cuisiner | kochen | human | - | daily
go =for/n a/n walk/n | se promener | gehen =spazieren/n | human | - | daily habit
go =shopping/n | faire =les/n courses/n | ein|kaufen | human | - | habit
have =breakfast/n | prendre =le/d petit/n déjeuner/n | frühstücken | human | - | daily
travel | voyager | reisen | human | - | -
"""

ACTIVITIES = """
play =football/n | jouer =au/p football/n | spielen =Fußball/n | human | - | habit
play =tennis/n | jouer =au/p tennis/n | spielen =Tennis/n | human | - | habit
play =cards/n | jouer =aux/p cartes/n | spielen =Karten/n | human | - | habit
play =chess/n | jouer =aux/p échecs/n | spielen =Schach/n | human | - | habit
play =the/p piano/n | jouer =du/p piano/n | spielen =Klavier/n | human | - | habit
play =the/p violin/n | jouer =du/p violon/n | spielen =Geige/n | human | - | habit
play =the/p guitar/n | jouer =de/p la/p guitare/n | spielen =Gitarre/n | human | - | habit
learn =French/n | apprendre =le/p français/n | lernen =Französisch/n | human | - | habit
learn =German/n | apprendre =le/p allemand/n | lernen =Deutsch/n | human | - | habit
learn =Italian/n | apprendre =le/p italien/n | lernen =Italienisch/n | human | - | habit
ride =a/p bicycle/n | faire =du/p vélo/n | fahren =Rad/n | human | - | habit
"""

PLACING = """
put:lay | mettre | legen | human | book newspaper letter key pencil map photo ticket passport spoon knife report | -
put:stand | mettre | stellen | human | bottle glass vase cup lamp plate box candle basket chair radio | -
"""

PREFERENCES = """
like | aimer | mögen | human | fruit mass animal many flower | stative steady
"""

CLAUSAL = """
know:fact | savoir | wissen | human | - | stative steady
think:fact | penser | glauben | human | - | stative steady
say | dire | sagen | human | - | stative
hope | espérer | hoffen | human | - | stative steady
"""

SIMPLE = """
go | aller | gehen | human | - | -
go:by | aller | fahren | human | - | -
leave:by | partir | ab|fahren | vehicle | - | stative
arrive:by | arriver | an|kommen | vehicle | - | stative
begin | commencer | beginnen | idea | - | stative
open:hours | ouvrir | öffnen | building | - | stative
close:hours | fermer | schließen | building | - | stative
cost | coûter | kosten | thing | - | stative
live | habiter | wohnen | human | - | stative
come | venir | kommen | human | - | stative
like:doing | aimer | mögen | human | - | stative
be:called | s'appeler | heißen | human | - | stative
rain | pleuvoir | regnen | it | - | -
snow | neiger | schneien | it | - | -
"""
