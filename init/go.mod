module drover/init

go 1.24
