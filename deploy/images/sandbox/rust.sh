packages="rustc gcc libc6-dev"
