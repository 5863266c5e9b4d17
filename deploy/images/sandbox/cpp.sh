packages="g++ libc6-dev make"
