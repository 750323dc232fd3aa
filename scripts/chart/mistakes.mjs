// Defines values that must be refused. Mistyped keys and wrong types are generated from the schema, one for each place
// in it. Only the templates can detect the others.

/** Yields each object in the schema with its path: `image`, `services.gateway.env`, `tolerations[]`. */
function* objectsOf(schema, path = []) {
  if (schema.type === 'array') yield* objectsOf(schema.items, [...path, 0]);
  if (schema.type !== 'object' || schema.properties === undefined) return;
  yield { path, keys: Object.keys(schema.properties) };
  for (const [key, inner] of Object.entries(schema.properties)) yield* objectsOf(inner, [...path, key]);
}

/** Yields each typed leaf of the schema: texts and numbers, or lists. */
function* leavesOf(schema, lists, path = []) {
  if (schema.type === 'array' && !lists) yield* leavesOf(schema.items, lists, [...path, 0]);
  else if (schema.properties !== undefined) {
    for (const [key, inner] of Object.entries(schema.properties)) yield* leavesOf(inner, lists, [...path, key]);
  } else if ((schema.type === 'array') === lists && path.length > 0) yield { path, value: wrong(schema) };
}

function wrong(schema) {
  const types = [schema.type ?? 'string'].flat();
  if (!types.includes('object')) return { wrong: true };
  return types.includes('string') ? 7 : 'wrong';
}

/** Returns values with one mistyped key in each object, and the places where helm has to find them. */
export function mistypedKeys(schema) {
  const values = {};
  const places = [];
  for (const { path, keys } of objectsOf(schema)) {
    const mistyped = keys
      .map((key) => `${key.slice(0, -1)}${key.at(-1)}${key.at(-1)}`)
      .find((key) => !keys.includes(key));
    put(values, [...path, mistyped], 'mistyped');
    places.push({ path: pointer(path), key: mistyped });
  }
  return { values, places };
}

/** Returns values with a wrong type in each place: in those of texts and numbers, or in those of lists. */
export function wrongTypes(schema, lists) {
  const values = {};
  const places = [];
  for (const { path, value } of leavesOf(schema, lists)) {
    put(values, path, value);
    places.push({ path: pointer(path) });
  }
  return { values, places };
}

function pointer(path) {
  return path.length === 0 ? '' : `/${path.join('/')}`;
}

function put(values, [key, ...rest], value) {
  if (rest.length === 0) values[key] = value;
  else {
    values[key] ??= typeof rest[0] === 'number' ? [] : {};
    put(values[key], rest, value);
  }
}

/** Values that the templates refuse, as [scenario, settings, message]. */
export const refused = [
  ['defaults', ['publicUrl=http://work.example.com'], 'publicUrl is http and not on loopback'],
  ['defaults', ['ingress.enabled=true'], 'publicUrl is on loopback'],
  ['defaults', ['mongodb.url=mongodb://m'], 'profile embedded has no use for mongodb'],
  ['defaults', ['s3.existingSecret=s3'], 's3.existingSecret is of no use'],
  ['defaults', ['telemetry.serviceMonitor.enabled=true'], 'telemetry.serviceMonitor needs telemetry.metrics.enabled'],
  ['defaults', ['telemetry.otlp.existingSecret=otlp'], 'telemetry.otlp.existingSecret is of no use'],
  ['defaults', ['profile=mesh'], 'a mesh needs secrets.existingSecret'],
  ['defaults', ['profile=mesh'], 'a mesh needs mongodb.url'],
  ['defaults', ['profile=mesh'], 'a mesh needs nats.url'],
  ['mesh', ['nats.existingSecret=nats'], 'nats.url and nats.existingSecret are both set'],
  ['mesh', ['gatewayApi.enabled=true'], 'gatewayApi.parentRefs is empty'],
  ['mesh', ['backup.enabled=true'], 'backup is for profile embedded'],
  ['mesh', ['extraHosts[0].host=docs.example.com'], 'extraHosts is of no use'],
  [
    'embedded-bucket',
    ['backup.enabled=true', 'backup.bucket.url=https://s3.example.com/files/backups'],
    'prefixes of their own',
  ],
  [
    'ha',
    [
      'services.gateway.autoscaling.keda.enabled=true',
      'services.gateway.autoscaling.metrics[0].type=Pods',
      'services.gateway.autoscaling.metrics[0].pods.a=b',
    ],
    'use keda.triggers',
  ],
  ['mesh', ['services.search.replicas=2'], 'services.search.replicas is above 1'],
  ['mesh', ['typesense.url=http://typesense:8108'], 'typesense.url and typesense.existingSecret go together'],
  ['mesh', ['typesense.existingSecret=typesense'], 'typesense.url and typesense.existingSecret go together'],
  ['mesh', ['services.files.replicas=2'], 'services.files.replicas is above 1'],
  ['mesh', ['services.gateway.autoscaling.maxReplicas=1'], 'gateway: autoscaling.minReplicas is above maxReplicas'],
  ['mesh', ['mongodb.existingSecret=', 'mongodb.url=mongodb://someone:secret@m'], '/mongodb/url'],
  ['mesh', ['s3.url=https://key:secret@s3.example.com/files'], '/s3/url'],
  ['mesh', ['services.gatewey.replicas=3'], 'gatewey'],
  ['mesh', ['services.identity.env.COMMONPLACE_SIGNUP=open'], 'COMMONPLACE_SIGNUP'],
  ['mesh', ['services.gateway.env.COMMONPLACE_MESH_KEY=0123456789abcdef0123456789abcdef'], 'COMMONPLACE_MESH_KEY'],
];
