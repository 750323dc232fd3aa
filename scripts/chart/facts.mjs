// Reads the facts that the chart needs from the declarations of the services: whom each calls, and which settings it
// has. Requires the output of `npm run build`.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../build.mjs';
import { SERVICES } from '../mesh.mjs';

/** Names of the parts of a mesh, the gateway first. */
export const NAMES = ['gateway', ...SERVICES];
const EVERYTHING = 'all';

/** Returns the facts of each service by name, and those of the job that creates the first owner. */
export async function readFacts() {
  const { contracts } = await load('platform/dist/src/contracts/index.js');
  // Every process asks identity for the keys of caller tokens.
  const callsOf = ({ name, calls }) =>
    [...new Set([contracts.auth, ...calls].map(({ owner }) => owner))].filter((owner) => owner !== name).sort();
  const services = {};
  for (const name of NAMES) {
    const module = await moduleOf(name);
    services[name] = {
      calls: callsOf(module),
      internet: module.reachesInternet ?? false,
      stores: module.stores,
      folder: module.storesFiles ?? false,
      ...variablesOf({ ...(await processTable()), ...module.config }),
    };
  }
  const { welcome } = await load(`services/${EVERYTHING}/dist/src/welcome.js`);
  return { services, embedded: variablesOf(await everyTable()), bootstrap: { calls: callsOf(welcome) } };
}

function variablesOf(table) {
  const named = (secret) =>
    Object.values(table)
      .filter((setting) => Boolean(setting.secret) === secret)
      .map(({ variable }) => variable);
  return { settings: [...new Set(named(false))].sort(), secrets: [...new Set(named(true))].sort() };
}

/**
 * Returns the shapes of values that the settings' parsers of each process accept, by process and variable. `all` is the
 * process that runs everything.
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

export function addressPatterns() {
  return load('kit/dist/src/network/index.js');
}

/** Returns the table of the settings that every process reads. */
export async function processTable() {
  return (await load('platform/dist/src/runtime/index.js')).processSettings;
}

/** Returns a service's module with its name and its table of settings. */
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
