# Completion for the prep-* tools: options as --help lists them, file names for the rest.
_preptools() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  if [[ $cur == -* ]]; then
    local options
    options=$("$1" --help 2>/dev/null | grep -oE '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sort -u)
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
for _preptool in $(compgen -c prep- | sort -u); do complete -F _preptools "$_preptool"; done
unset _preptool
