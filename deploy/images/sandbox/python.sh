packages="python3"
