import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  createFileRegistry,
  type DescExtension,
  type DescField,
  type DescMethod,
  type DescService,
  type FileRegistry,
  fromBinary,
  getOption,
  hasOption,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Access, Rules } from '@commonplace/proto/api/v1/access.js';
import { HttpRule } from '@commonplace/proto/google/api/http.js';
import { type Commented, nameOf, readComments } from './comments.js';

/** The contract as its descriptors tell it: services, messages and the options beside them. */
export interface Contract {
  readonly services: readonly DescService[];
  /** A field's rules; all defaults where it has none. */
  rules(field: DescField): Rules;
  access(method: DescMethod): Access | undefined;
  http(method: DescMethod): HttpRule | undefined;
  /** The comment above a definition, one paragraph a line; empty where there is none. */
  comment(definition: Commented): string;
}

/**
 * Reads the contract from a FileDescriptorSet; by default the one that the proto package carries. Comments lie in a file
 * of their own, three times as long, which is read when the first is asked for.
 */
export function loadContract(bytes: Uint8Array = readDescriptors('descriptors')): Contract {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
  const access = extension(registry, 'commonplace.api.v1.access');
  const rules = extension(registry, 'commonplace.api.v1.rules');
  const http = extension(registry, 'google.api.http');
  const services = [...registry].filter((type) => type.kind === 'service');
  const known = new Map<DescField, Rules>();
  let comments: ReadonlyMap<string, string> | undefined;
  return {
    services,
    rules: (field) => {
      let found = known.get(field);
      if (found === undefined) {
        found = Rules.decode(optionBytes(field, rules) ?? new Uint8Array());
        known.set(field, found);
      }
      return found;
    },
    access: (method) => decoded(optionBytes(method, access), Access.decode),
    http: (method) => decoded(optionBytes(method, http), HttpRule.decode),
    comment: (definition) => {
      comments ??= readComments(fromBinary(FileDescriptorSetSchema, readDescriptors('comments')).file);
      return comments.get(nameOf(definition)) ?? '';
    },
  };
}

function readDescriptors(name: 'descriptors' | 'comments'): Uint8Array {
  return readFileSync(createRequire(import.meta.url).resolve(`@commonplace/proto/${name}.binpb`));
}

function extension(registry: FileRegistry, name: string): DescExtension {
  const found = registry.getExtension(name);
  if (found === undefined) throw new Error(`the contract does not define the option ${name}`);
  return found;
}

/** An option's message as bytes, so that the generated code of the option gives it its types. */
function optionBytes(definition: DescField | DescMethod, option: DescExtension): Uint8Array | undefined {
  if (!hasOption(definition, option) || option.message === undefined) return undefined;
  return toBinary(option.message, getOption(definition, option) as Parameters<typeof toBinary>[1]);
}

function decoded<T>(bytes: Uint8Array | undefined, decode: (bytes: Uint8Array) => T): T | undefined {
  return bytes === undefined ? undefined : decode(bytes);
}
