import type { Rules } from '@commonplace/proto/api/v1/access.js';
import { type Element, enumChoices } from '../descriptors/shape.js';
import type { Convert } from './convert.js';
import { compileFreeForm } from './free-form.js';
import { compileInteger, compileNumber, readBoolean } from './numbers.js';
import { compileText } from './text.js';
import { readTime } from './time.js';

/** Elements that are a single value, not a message. */
export type ValueElement = Exclude<
  Element,
  { kind: 'message' | 'page' } | { kind: 'wrapped' } | { kind: 'mask' | 'page-request' }
>;

/** Returns the function that reads one value from JSON. */
export function compileValue(element: ValueElement, rules: Rules): Convert {
  switch (element.kind) {
    case 'string':
      return compileText(rules);
    case 'boolean':
      return readBoolean;
    case 'integer':
      return compileInteger(element.least, element.most, rules);
    case 'number':
      return compileNumber(rules);
    case 'time':
      return readTime;
    case 'json':
      return compileFreeForm(rules);
    case 'enum':
      return compileEnum(element, rules);
  }
}

function compileEnum(element: Extract<Element, { kind: 'enum' }>, rules: Rules): Convert {
  const names = new Map<string, string>();
  for (const [name, choice] of enumChoices(element.type)) {
    if (rules.in.length === 0 || rules.in.includes(choice)) names.set(choice, name);
  }
  const message = `must be one of ${[...names.keys()].join(', ')}.`;
  return (value, param, faults) => {
    if (typeof value !== 'string') return faults.add(param, 'invalid_type', 'must be a string.');
    return names.get(value) ?? faults.add(param, 'invalid_value', message);
  };
}

/** Returns the function that reads a list of values from JSON. */
export function compileList(item: Convert, { minItems, maxItems, uniqueItems }: Rules): Convert {
  return (value, param, faults) => {
    if (!Array.isArray(value)) return faults.add(param, 'invalid_type', 'must be a list.');
    if (maxItems > 0 && value.length > maxItems) {
      return faults.add(param, 'too_many_items', `must have ${maxItems} items or fewer.`);
    }
    if (value.length < minItems) return faults.add(param, 'invalid_value', `must have ${minItems} items or more.`);
    if (uniqueItems) {
      const seen = new Set<unknown>();
      for (const [i, each] of value.entries()) {
        if (seen.has(each)) faults.add(`${param}[${i}]`, 'invalid_value', 'must not be in the list twice.');
        seen.add(each);
      }
    }
    return value.map((each: unknown, i) => item(each, `${param}[${i}]`, faults));
  };
}
