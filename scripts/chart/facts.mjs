// Facts that the chart needs, read from the code: which services exist, whom each one calls, which settings it has.
// Requires the output of `npm run build`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../build.mjs';
import { SERVICES } from '../mesh.mjs';

/** The services of a mesh, the gateway first. */
export const NAMES = ['gateway', ...SERVICES];
const EVERYTHING = 'all';

/** Matches code that calls internet hosts named by users or operators. */
const REACHES_OUT = /\bopenGuard\(|createRemoteJWKSet\(|from 'oauth4webapi'|\bawait fetch\((?!'\/)/;

/** Returns the facts of each service by name, and those of the job that creates the first owner. */
export async function readFacts() {
  const { contracts } = await load('platform/dist/src/contracts/index.js');
  const byAll = callsOf('platform/src/runtime', contracts);
  // Every process calls identity for the keys of caller tokens: if that call is not found in the code, others are
  // missed too.
  if (!byAll.has(contracts.auth.owner))
    throw new Error('platform/src/runtime has no call of identity that can be told');
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

/**
 * Returns what the parsers of each process's settings accept, by process and variable: `all` is the one that runs
 * everything.
 */
export async function readShapes() {
  const { shapeOf } = await load('kit/dist/src/config/index.js');
  const own = await processTable();
  const { everything } = await load(`services/${EVERYTHING}/dist/src/everything.js`);
  const tables = new Map([[EVERYTHING, [own, ...everything.map(({ config }) => config)]]]);
  for (const name of NAMES) tables.set(name, [own, (await moduleOf(name)).config]);
  const shapesOf = (all) => {
    const shapes = new Map();
    for (const { variable, parse } of all.flatMap((table) => Object.values(table))) {
      const shape = shapeOf(parse);
      if (shape !== undefined) shapes.set(variable, [...(shapes.get(variable) ?? []), shape]);
    }
    return shapes;
  };
  return new Map([...tables].map(([name, all]) => [name, shapesOf(all)]));
}

/** Returns the patterns of addresses. */
export function addressPatterns() {
  return load('kit/dist/src/network/index.js');
}

/** Returns the table of settings that every process reads. */
export async function processTable() {
  return (await load('platform/dist/src/runtime/index.js')).processSettings;
}

/** Returns a service module: its name and its table of settings. */
export async function moduleOf(name) {
  const module = (await load(`${folderOf(name)}/dist/src/service.js`))[name];
  if (module?.name !== name) throw new Error(`${folderOf(name)}/src/service.ts does not export ${name}`);
  return module;
}

/** Returns the settings of the process that runs everything. */
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

/**
 * Returns the services whose clients the code of a folder creates: any call whose only argument is a contract returns
 * its client.
 */
function callsOf(folder, contracts) {
  const found = new Set();
  for (const text of sources(folder)) {
    for (const [, name] of text.matchAll(/\(\s*contracts\.(\w+)\s*\)/g)) found.add(contracts[name].owner);
    // A client of a contract that is not named counts as a call of every service, if the code iterates over all
    // contracts.
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
      // A port's contract suite lies beside it and is not part of the service.
      .filter((text) => !text.includes("'@jest/globals'"))
  );
}
