packages="gcc libc6-dev make"
