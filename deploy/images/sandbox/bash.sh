packages="jq gawk file bc xxd"
