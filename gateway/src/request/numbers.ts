import type { Rules } from '@commonplace/proto/api/v1/access.js';
import type { Convert } from './convert.js';

/** Returns the function that reads integers within the bounds of both the type and the rules. */
export function compileInteger(least: number, most: number, rules: Rules): Convert {
  const min = Math.max(least, rules.min ?? least);
  const max = Math.min(most, rules.max ?? most);
  return (value, param, faults) => {
    if (typeof value !== 'number') return faults.add(param, 'invalid_type', 'must be a whole number.');
    if (!Number.isInteger(value)) return faults.add(param, 'invalid_value', 'must be a whole number.');
    if (value < min || value > max) return faults.add(param, 'invalid_value', `must be ${min} to ${max}.`);
    // Adding 0 converts -0 to 0.
    return value + 0;
  };
}

/** Returns the function that reads finite numbers within the bounds of the rules. */
export function compileNumber({ min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: Rules): Convert {
  const bounds = [
    min > Number.NEGATIVE_INFINITY ? `${min} or more` : '',
    max < Number.POSITIVE_INFINITY ? `${max} or less` : '',
  ];
  const message = `must be a number${bounds.some((b) => b !== '') ? `, ${bounds.filter((b) => b !== '').join(' and ')}` : ''}.`;
  return (value, param, faults) => {
    if (typeof value !== 'number') return faults.add(param, 'invalid_type', 'must be a number.');
    if (!Number.isFinite(value) || value < min || value > max) return faults.add(param, 'invalid_value', message);
    return value + 0;
  };
}

export const readBoolean: Convert = (value, param, faults) =>
  typeof value === 'boolean' ? value : faults.add(param, 'invalid_type', 'must be true or false.');
