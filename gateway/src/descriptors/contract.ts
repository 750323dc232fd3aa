import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  createFileRegistry,
  type DescExtension,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type FileRegistry,
  fromBinary,
  getOption,
  hasOption,
} from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Access, Alternatives, Implication, Rules, Traits } from '@commonplace/proto/api/v1/access.js';
import { HttpRule } from '@commonplace/proto/google/api/http.js';
import { type Commented, nameOf, readComments } from './comments.js';

/** The contract as its descriptors declare it: services, messages and their options. */
export interface Contract {
  readonly services: readonly DescService[];
  /** Returns a field's rules; all defaults if it declares none. */
  rules(field: DescField): Rules;
  access(method: DescMethod): Access | undefined;
  /** Returns the options that determine how a method is served; all defaults if it declares none. */
  traits(method: DescMethod): Traits;
  /** Returns the groups of mutually exclusive fields of a request. */
  alternatives(message: DescMessage): Alternatives[];
  /** Returns the rules between a request's fields. */
  implications(message: DescMessage): Implication[];
  /** Returns a request body that works without changes; undefined where the contract has none. */
  example(message: DescMessage): unknown;
  http(method: DescMethod): HttpRule | undefined;
  /** Returns the comment above a definition, one paragraph per line; empty if there is none. */
  comment(definition: Commented): string;
}

const NO_BYTES = new Uint8Array();

/**
 * Loads the contract from a FileDescriptorSet, by default from the one of the proto package. Comments are in a separate
 * file, which is three times as long and is read only when the first comment is needed.
 */
export function loadContract(bytes: Uint8Array = readDescriptors('descriptors')): Contract {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
  const access = extension(registry, 'commonplace.api.v1.access');
  const rules = extension(registry, 'commonplace.api.v1.rules');
  const traits = extension(registry, 'commonplace.api.v1.traits');
  const alternatives = extension(registry, 'commonplace.api.v1.alternatives');
  const implications = extension(registry, 'commonplace.api.v1.implications');
  const example = extension(registry, 'commonplace.api.v1.example');
  const http = extension(registry, 'google.api.http');
  const services = [...registry].filter((type) => type.kind === 'service');
  const known = new Map<DescField, Rules>();
  let comments: ReadonlyMap<string, string> | undefined;
  return {
    services,
    rules: (field) => {
      let found = known.get(field);
      if (found === undefined) {
        found = Rules.decode(optionBytes(field, rules)[0] ?? NO_BYTES);
        known.set(field, found);
      }
      return found;
    },
    traits: (method) => Traits.decode(optionBytes(method, traits)[0] ?? NO_BYTES),
    access: (method) => decoded(optionBytes(method, access)[0], Access.decode),
    alternatives: (message) => optionBytes(message, alternatives).map((bytes) => Alternatives.decode(bytes)),
    implications: (message) => optionBytes(message, implications).map((bytes) => Implication.decode(bytes)),
    example: (message) => (hasOption(message, example) ? JSON.parse(getOption(message, example) as string) : undefined),
    http: (method) => decoded(optionBytes(method, http)[0], HttpRule.decode),
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

/**
 * Returns the encoded values of an option, for the generated code that decodes them to its own types. The registry keeps
 * options as bytes too, because no schema of its own knows them.
 */
function optionBytes({ proto }: DescField | DescMessage | DescMethod, { number }: DescExtension): Uint8Array[] {
  const values = proto.options?.$unknown?.filter(({ no }) => no === number) ?? [];
  return values.map(({ data }) => new BinaryReader(data).bytes());
}

function decoded<T>(bytes: Uint8Array | undefined, decode: (bytes: Uint8Array) => T): T | undefined {
  return bytes === undefined ? undefined : decode(bytes);
}
