import type { DescMessage } from '@bufbuild/protobuf';
import { isObject } from '@commonplace/kit/json';
import type { Rules } from '@commonplace/proto/api/v1/access.js';
import type { Contract } from '../descriptors/contract.js';
import { enumZero, type FieldShape, shapesOf } from '../descriptors/shape.js';
import type { Convert } from './convert.js';
import { compileList, compileValue } from './element.js';
import { readMessage } from './message.js';
import { compileQueryList, compileQueryValue, type FromQuery } from './query.js';

/** A message in the form of the generated code: all fields are present, in camelCase. */
export type Message = Record<string, unknown>;

export interface FieldPlan {
  readonly shape: FieldShape;
  readonly name: string;
  readonly local: string;
  readonly rules: Rules;
  /** Returns the value for an absent field. */
  empty(): unknown;
  /** Reads the field from JSON; undefined if JSON can't express it. */
  readonly convert: Convert | undefined;
  /** Reads the field from a query; undefined if a query can't express it. */
  readonly fromQuery: FromQuery | undefined;
  /** Plan of the nested message, for a field that holds one message. */
  readonly nested: MessagePlan | undefined;
}

export interface MessagePlan {
  readonly fields: readonly FieldPlan[];
  /** Fields by their names in JSON, including aliases and names of the previous version. */
  readonly keys: ReadonlyMap<string, FieldPlan>;
  create(): Message;
}

/** Returns the further names under which a field is accepted. */
export function otherNamesOf({ alias, former }: Pick<Rules, 'alias' | 'former'>): string[] {
  return [alias, former].filter((name) => name !== '');
}

/** Returns the plan of a message, which is compiled once. */
export type Plans = (message: DescMessage) => MessagePlan;

/** Creates the plans that read the messages of a contract from JSON. */
export function createPlans(contract: Contract): Plans {
  const plans = new Map<DescMessage, MessagePlan>();
  const planOf: Plans = (message) => {
    const known = plans.get(message);
    if (known !== undefined) return known;
    const fields: FieldPlan[] = [];
    const keys = new Map<string, FieldPlan>();
    const plan = { fields, keys, create: () => createMessage(fields) };
    // The plan is stored before its fields are compiled, because a message may contain itself.
    plans.set(message, plan);
    for (const shape of shapesOf(contract, message)) {
      const field = planField(contract, shape, planOf);
      fields.push(field);
      if (field.convert === undefined) continue;
      keys.set(field.name, field);
      for (const other of otherNamesOf(field.rules)) keys.set(other, field);
    }
    return plan;
  };
  return planOf;
}

function createMessage(fields: readonly FieldPlan[]): Message {
  const message: Message = {};
  for (const field of fields) message[field.local] = field.empty();
  return message;
}

function planField(contract: Contract, shape: FieldShape, planOf: Plans): FieldPlan {
  const { rules, element, cardinality } = shape;
  const base = { shape, name: shape.name, local: shape.local, rules, empty: emptyOf(shape), nested: undefined };
  const none = { convert: undefined, fromQuery: undefined };
  // Clients can't set fields that the gateway fills.
  if (rules.from !== '') return { ...base, ...none };
  switch (element.kind) {
    case 'mask':
    case 'page':
    case 'page-request':
      return { ...base, ...none };
    case 'wrapped': {
      const list = planField(contract, element.list, planOf);
      const wrap = (items: unknown) => (items === undefined ? undefined : { [element.list.local]: items });
      const { convert, fromQuery } = list;
      const one: Convert = (value, param, faults) => wrap(convert?.(value, param, faults));
      return {
        ...base,
        convert: spread(one, shape),
        fromQuery: cardinality === 'one' && fromQuery ? (t, p, f) => wrap(fromQuery(t, p, f)) : undefined,
      };
    }
    case 'message': {
      const nested = planOf(element.type);
      const one: Convert = (value, param, faults) => readMessage(nested, value, param, faults);
      return { ...base, ...none, convert: spread(one, shape), nested: cardinality === 'one' ? nested : undefined };
    }
    default: {
      const value = compileValue(element, rules);
      const one = shape.name === 'q' ? ignoringBlank(value) : value;
      const fromQuery =
        cardinality === 'one'
          ? compileQueryValue(element, one)
          : cardinality === 'list' && element.kind !== 'json'
            ? compileQueryList(element, one, rules)
            : undefined;
      return { ...base, convert: spread(one, shape), fromQuery };
    }
  }
}

/** Reads a blank text, which finds everything, as an empty one, so that all lists take it in the same way. */
function ignoringBlank(convert: Convert): Convert {
  return (value, param, faults) => {
    const text = convert(value, param, faults);
    return typeof text === 'string' && text.trim() === '' ? '' : text;
  };
}

function emptyOf({ cardinality, element, optional }: FieldShape): () => unknown {
  if (cardinality === 'list') return () => [];
  if (cardinality === 'map') return () => ({});
  if (optional) return () => undefined;
  switch (element.kind) {
    case 'string':
      return () => '';
    case 'boolean':
      return () => false;
    case 'integer':
    case 'number':
      return () => 0;
    case 'json':
      return () => NOTHING;
    case 'enum': {
      const zero = enumZero(element.type);
      return () => zero;
    }
    default:
      return () => undefined;
  }
}

const NOTHING = Buffer.alloc(0);

/** Returns the function that reads a field by its cardinality: one value, a list or a map. */
function spread(one: Convert, { cardinality, rules }: FieldShape): Convert {
  if (cardinality === 'one') return one;
  return cardinality === 'list' ? compileList(one, rules) : compileMap(one, rules);
}

function compileMap(one: Convert, { maxItems }: Rules): Convert {
  return (value, param, faults) => {
    if (!isObject(value)) return faults.add(param, 'invalid_type', 'must be an object.');
    const keys = Object.keys(value);
    if (maxItems > 0 && keys.length > maxItems) {
      return faults.add(param, 'too_many_items', `must have ${maxItems} entries or fewer.`);
    }
    const map: Record<string, unknown> = {};
    for (const key of keys) {
      if (key === '__proto__') faults.add(`${param}.${key}`, 'unknown_field', 'is not a name for an entry.');
      else map[key] = one(value[key], `${param}.${key}`, faults);
    }
    return map;
  };
}
