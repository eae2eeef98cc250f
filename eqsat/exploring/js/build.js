// Bundles src/ into ../static: explorer.js and explorer.css, each with the digest of what it was made of, and the licences beside them.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const STATIC = "../static";

function digest() {
  const hash = createHash("sha256");
  for (const file of ["package-lock.json", ...readdirSync("src").sort().map((name) => `src/${name}`)]) hash.update(readFileSync(file));
  return hash.digest("hex");
}

// The packages of a bundle, as its list of inputs names them.
function packages(metafile) {
  const found = Object.keys(metafile.inputs).map((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]);
  return [...new Set(found.filter(Boolean))].sort();
}

function licence(name) {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`));
  const text = readdirSync(folder).filter((file) => /^licen[sc]e|legal/i.test(file)).map((file) => readFileSync(`${folder}/${file}`, "utf8").trim());
  return `${name} ${version} (${license})\n\n${text.join("\n\n")}\n`;
}

const banner = `/* built from ${digest()}; licences: explorer.LICENCES.txt */`;
const options = { bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", metafile: true, banner: { js: banner, css: banner } };
const made = await build({ ...options, entryPoints: ["src/index.js"], outfile: `${STATIC}/explorer.js` });
await build({ ...options, entryPoints: ["src/explorer.css"], outfile: `${STATIC}/explorer.css` });
// dagre's distribution holds graphlib, so it is no input of its own
const parts = [...new Set([...packages(made.metafile), "@dagrejs/graphlib"])].sort().map(licence);
writeFileSync(`${STATIC}/explorer.LICENCES.txt`, `explorer.js contains parts of these packages.\n\n${parts.join("\n----\n\n")}`);
