import type { Condition, Scalar, Where } from '@commonplace/kit/store';

type Fields = Readonly<Record<string, unknown>>;

/** Returns whether `createMatcher` supports a filter: one without ranges and texts, whose order SQLite defines. */
export function isMatchable(where: Where<never>): boolean {
  return Object.entries(where as Fields).every(([name, entry]) => {
    if (name === 'and' || name === 'or') return (entry as Where<never>[]).every(isMatchable);
    if (typeof entry !== 'object') return true;
    return Object.entries(entry as Condition).every(
      ([op, operand]) => operand === undefined || Object.hasOwn(TESTS, op),
    );
  });
}

/** Returns a function that tests records as the translation into SQL does. The filter has to be matchable. */
export function createMatcher<T>(where: Where<T>): (record: T) => boolean {
  const tests = Object.entries(where as Fields).flatMap(([name, entry]) => testsOf(name, entry));
  return allOf(tests) as (record: T) => boolean;
}

type Test = (record: Fields) => boolean;

// A page tests a thousand records. A loop takes a quarter less time than `every` or `some`, and one expression for two
// tests takes half the time of a loop.

function allOf(tests: readonly Test[]): Test {
  const [first, second, ...others] = tests;
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  if (others.length === 0) return (record) => first(record) && second(record);
  return (record) => {
    for (const test of tests) if (!test(record)) return false;
    return true;
  };
}

function anyOf(tests: readonly Test[]): Test {
  const [first, second, ...others] = tests;
  if (first === undefined) return () => false;
  if (second === undefined) return first;
  if (others.length === 0) return (record) => first(record) || second(record);
  return (record) => {
    for (const test of tests) if (test(record)) return true;
    return false;
  };
}

function testsOf(name: string, entry: unknown): Test[] {
  if (entry === undefined) return [];
  if (name === 'and') return (entry as Where<Fields>[]).map(createMatcher);
  if (name === 'or') return [anyOf((entry as Where<Fields>[]).map(createMatcher))];
  if (typeof entry !== 'object') return [(record) => record[name] === entry];
  return Object.entries(entry as Condition).flatMap(([op, operand]) =>
    operand === undefined ? [] : [TESTS[op as Matchable](name, operand)],
  );
}

type Matchable = 'in' | 'not' | 'exists' | 'contains' | 'containsAny';

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

/** Creates the test of a condition from its field and its operand. */
const TESTS: Readonly<Record<Matchable, (name: string, operand: unknown) => Test>> = {
  in: (name, operand) => {
    const values = new Set(operand as readonly Scalar[]);
    return (record) => values.has(record[name] as Scalar);
  },
  not: (name, operand) => (record) => isPresent(record[name]) && record[name] !== operand,
  exists: (name, operand) => (record) => isPresent(record[name]) === operand,
  contains: (name, operand) => (record) => {
    const value = record[name];
    return Array.isArray(value) && value.includes(operand);
  },
  containsAny: (name, operand) => {
    const values = new Set(operand as readonly unknown[]);
    return (record) => {
      const value = record[name];
      if (!Array.isArray(value)) return false;
      for (const element of value) if (values.has(element)) return true;
      return false;
    };
  },
};
