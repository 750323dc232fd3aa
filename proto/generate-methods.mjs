// Writes gen/commonplace/methods.ts: what the options of the contract say about each method.
import { readFileSync, writeFileSync } from 'node:fs';
import { createFileRegistry, fromBinary, getOption, hasOption } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema, MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';

const folder = new URL('gen/', import.meta.url);
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(new URL('descriptors.binpb', folder))),
);
const peers = registry.getExtension('commonplace.api.v1.peers');
const access = registry.getExtension('commonplace.api.v1.access');
const traits = registry.getExtension('commonplace.api.v1.traits');
const http = registry.getExtension('google.api.http');
const loads = registry.getEnum('commonplace.api.v1.Load');

/** What stands for a scope where none is needed. */
const UNSCOPED = new Set(['none', 'public']);

/** `LOAD_BACKGROUND` as `background`. */
const loadName = (value) => loads.value[value].name.replace('LOAD_', '').toLowerCase();

function factsOf(method) {
  const named = hasOption(method, peers) ? getOption(method, peers).callers : [];
  const own = hasOption(method, traits) ? getOption(method, traits) : {};
  const rule = hasOption(method, access) ? getOption(method, access) : {};
  const isRead = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return {
    callers: hasOption(method, http) ? ['gateway', ...named] : named,
    isRead,
    load: own.load ? loadName(own.load) : isRead ? 'read' : 'write',
    freesSpace: own.freesSpace ?? false,
    deletes: own.deletes ?? false,
    watches: own.watches ?? false,
    scopes: [rule.scope, ...(rule.also ?? [])].filter((scope) => scope && !UNSCOPED.has(scope)),
  };
}

const methods = {};
for (const service of registry) {
  if (service.kind !== 'service' || !service.typeName.startsWith('commonplace.')) continue;
  for (const method of service.methods) methods[`/${service.typeName}/${method.name}`] = factsOf(method);
}

const text = `// Written by generate-methods.mjs.
export interface MethodFacts {
  /** The processes that may call it. */
  readonly callers: readonly string[];
  /** It changes nothing, so that it may be asked twice. */
  readonly isRead: boolean;
  readonly load: 'background' | 'write' | 'read';
  readonly freesSpace: boolean;
  readonly deletes: boolean;
  readonly watches: boolean;
  /** Any of these opens it on HTTP; empty if it needs none or is not on HTTP. */
  readonly scopes: readonly string[];
}

export const METHODS: Readonly<Record<string, MethodFacts>> = ${JSON.stringify(methods, null, 2)};
`;
writeFileSync(new URL('commonplace/methods.ts', folder), text);
