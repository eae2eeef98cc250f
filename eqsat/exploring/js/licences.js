// Writes beside the bundle the licences of what is in it.
import { readFileSync, writeFileSync, readdirSync } from "node:fs";

const packages = ["@dagrejs/dagre", "@dagrejs/graphlib", "d3-color", "d3-dispatch", "d3-drag", "d3-ease", "d3-interpolate", "d3-selection", "d3-timer", "d3-transition", "d3-zoom"];
const parts = packages.map((name) => {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`));
  const file = readdirSync(folder).find((found) => /^licen[sc]e/i.test(found));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(`${folder}/${file}`, "utf8").trim() : ""}\n`;
});
writeFileSync("../static/explorer.LICENCES.txt", `explorer.js contains parts of these packages.\n\n${parts.join("\n----\n\n")}`);
