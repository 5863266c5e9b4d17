import { defineConfig } from "vite";

export default defineConfig({
  // Nothing inline: the gateway's content security policy allows scripts, styles and pictures from itself alone.
  build: {
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2023",
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
