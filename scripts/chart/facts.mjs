// What the chart has to know of the code, read from the code: which services there are, whom each one calls, which
// settings it has. Needs what `npm run build` makes.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../build.mjs';
import { SERVICES } from '../mesh.mjs';

/** The services of a mesh, the gateway first. */
export const NAMES = ['gateway', ...SERVICES];
const EVERYTHING = 'all';

/** How code says that it calls hosts of the internet that users or operators name. */
const REACHES_OUT = /\bopenGuard\(|createRemoteJWKSet\(|from 'oauth4webapi'|\bawait fetch\((?!'\/)/;

/** The facts of each service by its name, and those of the job that makes the first owner. */
export async function readFacts() {
  const { contracts } = await load('kit/dist/src/contracts/index.js');
  const byAll = callsOf('kit/src/runtime', contracts);
  const calls = (folder, self) =>
    [...new Set([...byAll, ...callsOf(folder, contracts)])].filter((name) => name !== self).sort();
  const services = {};
  for (const name of NAMES) {
    const folder = folderOf(name);
    const module = await moduleOf(name);
    services[name] = {
      calls: calls(`${folder}/src`, name),
      internet: sources(`${folder}/src`).some((text) => REACHES_OUT.test(text)),
      stores: module.stores,
      folder: sources(`${folder}/src`).some((text) => /\bhost\.dataDir\b/.test(text)),
      ...variablesOf({ ...(await processTable()), ...module.config }),
    };
  }
  return {
    services,
    embedded: variablesOf(await everyTable()),
    bootstrap: { calls: calls(`services/${EVERYTHING}/src`, EVERYTHING) },
  };
}

function variablesOf(table) {
  const named = (secret) =>
    Object.values(table)
      .filter((setting) => Boolean(setting.secret) === secret)
      .map(({ variable }) => variable);
  return { settings: [...new Set(named(false))].sort(), secrets: [...new Set(named(true))].sort() };
}

/** The table of what every process reads. */
export async function processTable() {
  return (await load('kit/dist/src/runtime/index.js')).processSettings;
}

/** A service as it is run: its name, its table of settings. */
export async function moduleOf(name) {
  const module = (await load(`${folderOf(name)}/dist/src/service.js`))[name];
  if (module?.name !== name) throw new Error(`${folderOf(name)}/src/service.ts does not export ${name}`);
  return module;
}

/** The settings of the process that runs everything. */
export async function everyTable() {
  const { everything } = await load(`services/${EVERYTHING}/dist/src/everything.js`);
  const tables = [await processTable(), ...everything.map(({ config }) => config)];
  const settings = tables.flatMap((table) => Object.values(table));
  return Object.fromEntries(settings.map((setting) => [setting.variable, setting]));
}

function folderOf(name) {
  return name === 'gateway' ? name : `services/${name}`;
}

function load(file) {
  return import(pathToFileURL(join(root, file)).href);
}

/** The services whose clients the code of a folder asks for. */
function callsOf(folder, contracts) {
  const found = new Set();
  for (const text of sources(folder)) {
    for (const [, name] of text.matchAll(/\bclient\(\s*contracts\.(\w+)\s*\)/g)) found.add(contracts[name].owner);
    // A client of a contract that is not named: of each there is, where the code goes through them all.
    if (!/\bhost\.client\(\s*(?!contracts\.)/.test(text)) continue;
    if (!text.includes('Object.values(contracts)')) throw new Error(`${folder} asks for a client that can't be told`);
    for (const { owner } of Object.values(contracts)) found.add(owner);
  }
  return found;
}

function sources(folder) {
  if (!existsSync(join(root, folder))) throw new Error(`${folder} is not there`);
  return (
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
      // The suite of a port lies beside it.
      .filter((text) => !text.includes("'@jest/globals'"))
  );
}
