import { isObject } from '@commonplace/kit/json';
import { textOfValue } from '../domain/templates.js';
import { ACTIONS, type FieldKind } from './actions.js';
import type { ActionType } from './records.js';

type Config = Readonly<Record<string, unknown>>;

/**
 * Returns a config whose templates are filled in, with texts where its fields take only these: there a value becomes the
 * text that it would be inside a longer text. Null stays, as a field without a value.
 */
export function withTexts(type: ActionType, config: Config): Config {
  const { fields } = ACTIONS[type];
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => {
      const convert = Object.hasOwn(fields, name) ? CONVERSIONS[fields[name]?.kind as FieldKind] : undefined;
      return [name, convert === undefined ? value : convert(value)];
    }),
  );
}

const toText = (value: unknown): unknown => (value === undefined || value === null ? value : textOfValue(value));

const CONVERSIONS: Partial<Record<FieldKind, (value: unknown) => unknown>> = {
  line: toText,
  text: toText,
  decimal: toText,
  text_or_object: (value) => (isObject(value) ? value : toText(value)),
  lines: (value) => (Array.isArray(value) ? value.map(toText) : value),
  headers: (value) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toText(one)])) : value,
};
