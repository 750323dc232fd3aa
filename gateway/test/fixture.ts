import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createFileRegistry, fromBinary, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { type Contract, loadContract } from '../src/descriptors/contract.js';

const base = fromBinary(
  FileDescriptorSetSchema,
  readFileSync(createRequire(import.meta.url).resolve('@commonplace/proto/descriptors.binpb')),
);
const registry = createFileRegistry(base);

/** Returns a field descriptor, in the JSON form of descriptor.proto. */
export function field(
  name: string,
  number: number,
  type: string,
  rules: JsonObject = {},
  more: JsonObject = {},
): JsonObject {
  const options: JsonObject =
    Object.keys(rules).length === 0 ? {} : { options: { '[commonplace.api.v1.rules]': rules } };
  return { name, number, type, label: 'LABEL_OPTIONAL', jsonName: name, ...options, ...more };
}

/** Returns an rpc on HTTP whose request and response are messages of this package. */
export function rpc(name: string, http: JsonObject, types: [string, string], scope = 'thing:write'): JsonObject {
  const access: JsonObject = scope === '' ? {} : { '[commonplace.api.v1.access]': { scope } };
  return {
    name,
    inputType: `.test.v1.${types[0]}`,
    outputType: `.test.v1.${types[1]}`,
    options: { '[google.api.http]': http, ...access },
  };
}

/** Returns every kind of field that the contract may have, including those that no endpoint uses yet. */
const values = (parent: string): JsonObject[] => [
  field('name', 3, 'TYPE_STRING', { line: true, minLength: 2, maxLength: 5 }, { proto3Optional: true, oneofIndex: 0 }),
  field('is_active', 4, 'TYPE_BOOL', { alias: 'isActive' }, { proto3Optional: true, oneofIndex: 1 }),
  field('small', 5, 'TYPE_INT32', { min: '1', max: '10', nullable: true }, { proto3Optional: true, oneofIndex: 2 }),
  field('big', 6, 'TYPE_INT64'),
  field('ratio', 7, 'TYPE_DOUBLE', { min: '0', max: '1' }),
  field('colour', 8, 'TYPE_ENUM', {}, { typeName: '.test.v1.Colour' }),
  field('colours', 9, 'TYPE_ENUM', { maxItems: 2 }, { typeName: '.test.v1.Colour', label: 'LABEL_REPEATED' }),
  field('at', 10, 'TYPE_MESSAGE', {}, { typeName: '.google.protobuf.Timestamp' }),
  field('any', 11, 'TYPE_BYTES', { json: 'JSON_ANY', nullable: true }),
  field('object', 12, 'TYPE_BYTES', { json: 'JSON_OBJECT' }),
  field('array', 13, 'TYPE_BYTES', { json: 'JSON_ARRAY' }),
  field('text', 14, 'TYPE_BYTES', { json: 'JSON_TEXT_OR_OBJECT' }),
  field('part', 15, 'TYPE_MESSAGE', {}, { typeName: '.test.v1.Part' }),
  field('parts', 16, 'TYPE_MESSAGE', { maxItems: 3 }, { typeName: '.test.v1.Part', label: 'LABEL_REPEATED' }),
  field('ids', 17, 'TYPE_MESSAGE', { unwrap: true, maxItems: 2 }, { typeName: '.test.v1.Ids' }),
  field('labels', 18, 'TYPE_MESSAGE', {}, { typeName: `.test.v1.${parent}.LabelsEntry`, label: 'LABEL_REPEATED' }),
  field('email', 19, 'TYPE_STRING', { email: true }),
  field('sort', 20, 'TYPE_STRING', { in: ['name', '-name'] }),
  field('secret', 21, 'TYPE_STRING', { secret: true, once: true }, { proto3Optional: true, oneofIndex: 3 }),
];

const entry = {
  name: 'LabelsEntry',
  field: [field('key', 1, 'TYPE_STRING'), field('value', 2, 'TYPE_INT32')],
  options: { mapEntry: true },
};
const synthetic = ['_name', '_is_active', '_small', '_secret'].map((name) => ({ name }));

export const MESSAGES: JsonObject[] = [
  {
    name: 'Thing',
    field: [field('id', 1, 'TYPE_STRING'), field('version', 2, 'TYPE_INT32'), ...values('Thing')],
    nestedType: [entry],
    oneofDecl: synthetic,
  },
  {
    name: 'ThingRequest',
    field: [
      field('thing_id', 1, 'TYPE_STRING', { uuid: true }),
      field('update_mask', 2, 'TYPE_MESSAGE', {}, { typeName: '.google.protobuf.FieldMask' }),
      ...values('ThingRequest'),
    ],
    nestedType: [entry],
    oneofDecl: synthetic,
  },
  {
    name: 'NewThing',
    field: [field('thing_id', 1, 'TYPE_STRING', { uuid: true }), ...values('NewThing')],
    nestedType: [entry],
    oneofDecl: synthetic,
  },
  {
    name: 'Part',
    field: [
      field('title', 1, 'TYPE_STRING', { required: true, maxLength: 3 }),
      field('note', 2, 'TYPE_STRING', { nullable: true }, { proto3Optional: true, oneofIndex: 0 }),
      field('part', 3, 'TYPE_MESSAGE', {}, { typeName: '.test.v1.Part' }),
    ],
    oneofDecl: [{ name: '_note' }],
  },
  {
    name: 'Ids',
    field: [field('values', 1, 'TYPE_STRING', { uuid: true, minItems: 1, maxItems: 5 }, { label: 'LABEL_REPEATED' })],
  },
  {
    name: 'ListThings',
    field: [
      field('page', 1, 'TYPE_MESSAGE', {}, { typeName: '.commonplace.api.v1.PageRequest' }),
      field('colours', 2, 'TYPE_ENUM', {}, { typeName: '.test.v1.Colour', label: 'LABEL_REPEATED' }),
      field('active', 3, 'TYPE_BOOL', { alias: 'isActive' }),
      field('count', 4, 'TYPE_INT32'),
      field('ratio', 5, 'TYPE_DOUBLE'),
      field('filter', 6, 'TYPE_BYTES', { json: 'JSON_OBJECT' }),
      field('since', 7, 'TYPE_MESSAGE', {}, { typeName: '.google.protobuf.Timestamp' }),
      field('ids', 8, 'TYPE_MESSAGE', { unwrap: true }, { typeName: '.test.v1.Ids' }),
      field('q', 9, 'TYPE_STRING', { maxLength: 10 }),
    ],
  },
  {
    name: 'Things',
    field: [
      field('items', 1, 'TYPE_MESSAGE', {}, { typeName: '.test.v1.Thing', label: 'LABEL_REPEATED' }),
      field('note', 2, 'TYPE_STRING'),
      field('page', 3, 'TYPE_MESSAGE', {}, { typeName: '.commonplace.api.v1.Page' }),
    ],
  },
  {
    name: 'Selector',
    field: [
      field('thing_id', 1, 'TYPE_STRING', { uuid: true }),
      field('pin_id', 2, 'TYPE_STRING', { uuid: true }, { proto3Optional: true, oneofIndex: 0 }),
      field('ids', 3, 'TYPE_STRING', { uuid: true }, { label: 'LABEL_REPEATED' }),
    ],
    oneofDecl: [{ name: '_pin_id' }],
  },
];

export const RPCS: JsonObject[] = [
  rpc('CreateThing', { post: '/api/v1/boxes/{thing_id}/things', body: '*' }, ['NewThing', 'Thing']),
  rpc('UpdateThing', { patch: '/api/v1/things/{thing_id}', body: '*' }, ['ThingRequest', 'Thing']),
  rpc('ReplaceThing', { put: '/api/v1/things/{thing_id}', body: '*' }, ['NewThing', 'Thing']),
  rpc('ListThings', { get: '/api/v1/things' }, ['ListThings', 'Things'], 'thing:read'),
  rpc('FindThings', { post: '/api/v1/things/find', body: '*' }, ['ListThings', 'Things'], 'thing:read'),
  rpc('MovePins', { patch: '/api/v1/things/{thing_id}/pins', body: '*' }, ['Selector', 'Things']),
  rpc('RemovePins', { delete: '/api/v1/things/{thing_id}/pins' }, ['Selector', 'Things']),
  rpc('DetachTag', { patch: '/api/v1/marks/{thing_id}', body: '*' }, ['Selector', 'Things']),
];

/** Returns the product's contract with an additional file. */
export function fixtureContract(messages: JsonObject[] = MESSAGES, rpcs: JsonObject[] = RPCS): Contract {
  const dependency = base.file.map((file) => file.name);
  const file: JsonObject = {
    name: 'test/v1/test.proto',
    package: 'test.v1',
    syntax: 'proto3',
    dependency,
    messageType: messages,
    enumType: [{ name: 'Colour', value: ['COLOUR_UNSPECIFIED', 'COLOUR_RED', 'COLOUR_DARK_BLUE'].map(enumValue) }],
    service: [{ name: 'ThingService', method: rpcs }],
  };
  const set = fromBinary(FileDescriptorSetSchema, toBinary(FileDescriptorSetSchema, base));
  set.file.push(fromJson(FileDescriptorProtoSchema, file, { registry }));
  return loadContract(toBinary(FileDescriptorSetSchema, set));
}

function enumValue(name: string, number: number): JsonObject {
  return { name, number };
}
