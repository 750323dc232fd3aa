// Checks that processes accept the settings that the chart gives them, with the processes' own tables of settings.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../build.mjs';
import { everyTable, moduleOf, NAMES, processTable } from './facts.mjs';
import { componentOf } from './objects.mjs';

/** Placeholder values for settings that come from a Secret. */
const URLS = {
  COMMONPLACE_MONGODB_URL: 'mongodb://m/?replicaSet=rs0',
  COMMONPLACE_NATS_URL: 'nats://n:4222',
  COMMONPLACE_SMTP_URL: 'smtp://m:587',
  COMMONPLACE_OTLP_HEADERS: 'authorization=it',
};
const KEY = 'ab'.repeat(32);

/** Returns a function that returns the faults that the process of a pod would report at its start. */
export async function openComplaints() {
  const { ConfigError, readConfigs } = await import(pathToFileURL(join(root, 'kit/dist/src/config/index.js')).href);
  const own = await processTable();
  const welcome = await import(pathToFileURL(join(root, 'services/all/dist/src/welcome.js')).href);
  const tables = new Map([
    ['all', await everyTable()],
    ['migration', { mongodbUrl: own.mongodbUrl }],
    ['bootstrap', { ...own, ...welcome.welcome.config }],
  ]);
  for (const name of NAMES) tables.set(name, { ...own, ...(await moduleOf(name)).config });
  return ({ metadata, spec }) => {
    const table = tables.get(componentOf(metadata.labels));
    if (table === undefined) return [];
    const [{ env = [], envFrom }] = spec.containers;
    const given = env.map(({ name, value, valueFrom }) => [
      name,
      valueFrom === undefined ? value : (URLS[name] ?? KEY),
    ]);
    // The embedded process generates its secrets itself, so placeholders are added.
    const made =
      componentOf(metadata.labels) === 'all'
        ? [
            ['COMMONPLACE_SECRET_KEY', KEY],
            ['COMMONPLACE_SECRETS_KEY', KEY],
          ]
        : [];
    const known = new Set(Object.values(table).map(({ variable }) => variable));
    const strange = env
      .filter(({ name }) => name.startsWith('COMMONPLACE_') && !known.has(name))
      .map(({ name }) => `${name} is unknown`);
    try {
      readConfigs({ all: table }, { ...Object.fromEntries(made), ...(envFrom && {}), ...Object.fromEntries(given) });
      return strange;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return [...strange, ...error.problems];
    }
  };
}
