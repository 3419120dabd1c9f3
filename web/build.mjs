// Builds the page into src/mosaic/web/bundle: one script, one style sheet, and the two files that stay as they are.
import { copyFile, mkdir } from "node:fs/promises";
import { build } from "esbuild";

const bundle = "../src/mosaic/web/bundle";
await mkdir(bundle, { recursive: true });
await build({
  entryPoints: { studio: "src/studio.ts" },
  outdir: bundle,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  legalComments: "none",
  logLevel: "warning",
});
await build({ entryPoints: { studio: "src/studio.css" }, outdir: bundle, minify: true, logLevel: "warning" });
for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `${bundle}/${name}`);
