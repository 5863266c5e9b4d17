packages="nodejs"
