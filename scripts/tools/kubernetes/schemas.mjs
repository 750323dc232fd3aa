// Creates schemas for kubeconform from those of the Python package kubernetes-validate, and from the custom resource
// definitions next to them.
// usage: schemas.mjs FOLDER
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** The oldest minor that the chart supports, one in between, and the newest. */
const VERSIONS = ['1.30.0', '1.34.0', '1.37.0'];

const folder = process.argv[2];
const published = join(folder, 'package/kubernetes_validate/kubernetes-json-schema');
for (const version of VERSIONS) {
  const from = join(published, `v${version}-local-strict`);
  const to = join(folder, `v${version}`);
  mkdirSync(to, { recursive: true });
  for (const file of readdirSync(from).filter((name) => name.endsWith('.json'))) {
    const text = readFileSync(join(from, file), 'utf8').replaceAll('"/api/_definitions.json#', '"_definitions.json#');
    // The id is removed, because references would be relative to its URL.
    const { $id, id, ...schema } = JSON.parse(text);
    writeFileSync(join(to, file), JSON.stringify(schema));
  }
}

const custom = join(folder, 'custom');
mkdirSync(custom, { recursive: true });
for (const file of readdirSync(join(folder, 'crds'))) {
  const { spec } = parse(readFileSync(join(folder, 'crds', file), 'utf8'));
  for (const { name, schema } of spec.versions) {
    const to = join(custom, `${spec.names.kind.toLowerCase()}-${spec.group}-${name}.json`);
    writeFileSync(to, JSON.stringify(strict(schema.openAPIV3Schema)));
  }
}

/** Returns a schema that refuses unknown properties. An API server drops them, but a check has to refuse them. */
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== 'object') return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
  return schema.type === 'object' && schema.properties !== undefined && schema.additionalProperties === undefined
    ? { ...inner, additionalProperties: false }
    : inner;
}
