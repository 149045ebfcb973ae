"""The verbs. A line: English | French | German | classes of subjects | classes of objects | flags.

"~on" is a particle that the object may separate from its verb, "+for" the preposition of the object, "=for a walk"
words that always follow. German "an|rufen" is separable; "+dat" and "+auf acc" give the case of the object.
Flags: "stative" (no progressive), "punctual" (not said of the present),
"steady" (said of the present only), "definite", "indefinite" (what its object must be).
"""

TRANSITIVE = """
read | lire | lesen | human | read text | -
write | écrire | schreiben | human | written | -
buy | acheter | kaufen | human | bought | -
sell | vendre | verkaufen | human | bought sold | -
eat | manger | essen | human | food | -
drink | boire | trinken | human | drink | -
see | voir | sehen | human | seen human | stative
hear | entendre | hören | human | heard human | stative
listen +to | écouter | zu|hören +dat | human | human | definite
look +for | chercher | suchen | human | lost human | definite
find | trouver | finden | human | lost found | punctual definite
lose | perdre | verlieren | human | lost | punctual definite
open | ouvrir | öffnen | human | opened | definite
close | fermer | schließen | human | opened | definite
repair | réparer | reparieren | human | repaired device | -
clean | nettoyer | putzen | human | cleaned | definite
wash | laver | waschen | human | washed | definite
build | construire | bauen | human | built | -
visit:place | visiter | besichtigen | human | visited building | definite
visit:person | rendre =visite +à | besuchen | human | kin | definite
wait +for | attendre | warten +auf acc | human | human awaited | definite
help | aider | helfen +dat | human | human | definite
know | connaître | kennen | human | human told visited | stative steady definite
call | appeler | an|rufen | human | human | definite
thank | remercier | danken +dat | human | human | definite
meet | rencontrer | treffen | human | human | punctual
invite | inviter | ein|laden | human | kin human | punctual definite
carry | porter | tragen | human | carried | -
wear | porter | tragen | human | worn | -
put ~on | mettre | an|ziehen | human | worn | definite
take ~off | enlever | aus|ziehen | human | worn | definite
turn ~on | allumer | ein|schalten | human | device | definite
turn ~off | éteindre | aus|schalten | human | device | definite
prepare | préparer | vor|bereiten | human | prepared | definite
cook | préparer | kochen | human | cooked | -
cut | couper | schneiden | human | cut | -
taste | goûter | probieren | human | food drink | -
order | commander | bestellen | human | ordered | -
choose | choisir | aus|suchen | human | worn bought shown | -
draw | dessiner | zeichnen | human | drawn | -
paint | peindre | streichen | human | painted | -
sing | chanter | singen | human | sung | -
learn | apprendre | lernen | human | learnt | definite
understand | comprendre | verstehen | human | understood | stative definite
forget | oublier | vergessen | human | lost explained learnt | punctual definite
answer | répondre | beantworten | human | answered | definite
think +about | penser +à | denken +an acc | human | human exam journey | definite
translate | traduire | übersetzen | human | text | -
sign | signer | unterschreiben | human | signed | -
correct | corriger | korrigieren | human | corrected | definite
solve | résoudre | lösen | human | solved | punctual definite
explain | expliquer | erklären | human | explained | definite
hide | cacher | verstecken | human | small present hung letter bottle | definite
drive | conduire | fahren | human | driven | definite
plant | planter | pflanzen | human | planted | -
water | arroser | gießen | human | plant | definite
feed | nourrir | füttern | human | animal | definite
follow | suivre | folgen +dat | human | human | definite
look +at | regarder | betrachten | human | shown seen | definite
receive | recevoir | bekommen | human | sent signed present | punctual
break | casser | zerbrechen | human | broken | punctual
have | avoir | haben | human | pet vehicle bought -food -drink -mass | stative steady indefinite
"""

DITRANSITIVE = """
give | donner +à | geben | human | carried lost sent shown bought -lent -food -drink -furniture | -
show | montrer +à | zeigen | human | shown lost read drawn -animal | -
send | envoyer +à | schicken | human | sent | -
lend | prêter +à | leihen | human | lent | -
bring | apporter +à | bringen | human | carried lost dish drink -animal | -
tell | raconter +à | erzählen | human | story | -
"""

INTRANSITIVE = """
sleep | dormir | schlafen | human animal | - | -
work | travailler | arbeiten | human | - | -
rest | se reposer | sich aus|ruhen | human | - | -
get ~up | se lever | auf|stehen | human | - | moment
wake ~up | se réveiller | auf|wachen | human | - | punctual moment
fall =asleep | s'endormir | ein|schlafen | human | - | punctual moment
arrive | arriver | an|kommen | human | - | punctual moment
leave | partir | weg|gehen | human | - | moment
come =back | revenir | zurück|kommen | human | - | moment
stay | rester | bleiben | human | - | place
wait | attendre | warten | human | - | -
laugh | rire | lachen | human | - | -
cry | pleurer | weinen | human | - | -
smile | sourire | lächeln | human | - | -
sing | chanter | singen | human | - | -
dance | danser | tanzen | human | - | -
cook | cuisiner | kochen | human | - | -
hurry =up | se dépêcher | sich beeilen | human | - | moment
go =for/n a/n walk/n | se promener | spazieren|gehen | human | - | -
go =shopping/n | faire =les/n courses/n | ein|kaufen | human | - | -
have =breakfast/n | prendre =le/d petit/n déjeuner/n | frühstücken | human | - | -
travel | voyager | reisen | human | - | far
"""

ACTIVITIES = """
play =football/n | jouer =au/p football/n | spielen =Fußball/n | human | - | outside
play =tennis/n | jouer =au/p tennis/n | spielen =Tennis/n | human | - | outside
play =cards/n | jouer =aux/p cartes/n | spielen =Karten/n | human | - | -
play =chess/n | jouer =aux/p échecs/n | spielen =Schach/n | human | - | -
play =the/p piano/n | jouer =du/p piano/n | spielen =Klavier/n | human | - | music
play =the/p violin/n | jouer =du/p violon/n | spielen =Geige/n | human | - | music
play =the/p guitar/n | jouer =de/p la/p guitare/n | spielen =Gitarre/n | human | - | music
learn =French/n | apprendre =le/p français/n | lernen =Französisch/n | human | - | -
learn =German/n | apprendre =le/p allemand/n | lernen =Deutsch/n | human | - | -
learn =Italian/n | apprendre =le/p italien/n | lernen =Italienisch/n | human | - | -
ride =a/p bicycle/n | faire =du/p vélo/n | fahren =Rad/n | human | - | outside
"""
