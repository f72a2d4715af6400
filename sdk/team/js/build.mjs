// Makes the component: `node build.mjs` -> team.wasm. It needs @bytecodealliance/componentize-js (`npm install`).
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { componentize } from '@bytecodealliance/componentize-js';

const here = (path) => new URL(path, import.meta.url).pathname;
const manifest = JSON.parse(await readFile(here('package.json'), 'utf8'));

// The tool wants the world beside the packages that it names.
await rm(here('build'), { recursive: true, force: true });
await mkdir(here('build/wit/deps/baton-policy'), { recursive: true });
const contract = (await readdir(here('wit'))).filter((file) => file.endsWith('.wit'));
for (const file of contract) await copyFile(here(`wit/${file}`), here(`build/wit/deps/baton-policy/${file}`));
await copyFile(here('world.wit'), here('build/wit/world.wit'));

const { component } = await componentize({
  sourcePath: here('policy.js'),
  witPath: here('build/wit'),
  worldName: 'guest',
  // A policy has no clock, randomness, files or network; without these the component imports nothing of the kind.
  disableFeatures: ['random', 'stdio', 'clocks', 'http', 'fetch-event'],
});
await writeFile(here(`${manifest.name}.wasm`), stamped(component, manifest.baton?.wants));
console.log(`built ${manifest.name}.wasm, ${component.length} bytes`);

// The component with what it asks for in a custom section, which a person is shown before a workflow grants it.
function stamped(component, wants) {
  if (!wants) return component;
  const name = Buffer.from('baton:wants');
  const body = Buffer.concat([leb128(name.length), name, Buffer.from(JSON.stringify({ schema: 1, ...wants }))]);
  return Buffer.concat([component, Buffer.from([0]), leb128(body.length), body]);
}

function leb128(number) {
  const bytes = [];
  do {
    bytes.push((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
    number >>>= 7;
  } while (number > 0);
  return Buffer.from(bytes);
}
