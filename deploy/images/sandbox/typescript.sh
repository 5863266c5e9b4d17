packages="nodejs esbuild"
