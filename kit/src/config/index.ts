import { isPlainUrl, PLAIN_CONNECTIONS } from './plain-connections.js';
import { shaped } from './shapes.js';

/**
 * A setting of a service. The configuration of a service is one table: parser, default, one line of help. All problems
 * are reported together at start.
 */
export interface Setting<T> {
  readonly variable: string;
  readonly help: string;
  readonly parse: (text: string) => T;
  /** Default value; the variable is required when absent. */
  readonly fallback?: T;
  /** A short description for a setting that most people need; it is shown in the short `--help`. */
  readonly common?: string;
  /** Whether the value is secret and never printed. */
  readonly secret?: boolean;
  /** Whether processes connect to the value, a URL, which then has to be encrypted if the operator says so. */
  readonly connects?: boolean;
  /** Whether the value is parsed to keys (`Buffer[]`) that encrypt records: a start with other keys is refused. */
  readonly seals?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds settings of any type.
export type Table = Record<string, Setting<any>>;
export type Values<T extends Table> = { readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : never };

/** Declares a table. The variable of a setting `runSteps` is `COMMONPLACE_RUN_STEPS` unless it names another one. */
export function defineSettings<T extends Record<string, Omit<Table[string], 'variable'> & { variable?: string }>>(
  table: T,
): { readonly [K in keyof T]: T[K] & { readonly variable: string } } {
  const named = Object.entries(table).map(([name, setting]) => [name, { variable: variableOf(name), ...setting }]);
  return Object.fromEntries(named);
}

const variableOf = (name: string): string =>
  `COMMONPLACE_${name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase()}`;

/** Thrown for an invalid configuration, with one line for each problem. The process ends with code 78 (EX_CONFIG). */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

export const EX_CONFIG = 78;

export { helpText, shownDefault } from './help.js';
export { emailAddress, mailbox } from './mailbox.js';
export { nearestName, unknownSettings } from './nearest.js';
export { isPlainUrl, PLAIN_CONNECTIONS } from './plain-connections.js';
export { shaped, shapeOf } from './shapes.js';

/** Reads a table from the environment, where a blank value counts as none. Throws ConfigError with all problems at once. */
export function readConfig<T extends Table>(table: T, env: NodeJS.ProcessEnv): Values<T> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const text = env[setting.variable];
    // White space alone sets nothing: as a number it would count as 0.
    if (text === undefined || text.trim() === '') {
      if ('fallback' in setting) values[name] = setting.fallback;
      else problems.push(`${setting.variable} is not set: ${setting.help}`);
      continue;
    }
    if (setting.connects && env[PLAIN_CONNECTIONS] === 'refuse' && isPlainUrl(text)) {
      problems.push(`${setting.variable} must be encrypted, because ${PLAIN_CONNECTIONS} is refuse: ${setting.help}`);
      continue;
    }
    try {
      values[name] = setting.parse(text);
    } catch (error) {
      const shown = setting.secret ? '' : ` (it is ${JSON.stringify(text)})`;
      problems.push(`${setting.variable} ${(error as Error).message}${shown}: ${setting.help}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return values as Values<T>;
}

/** Reads several tables. The problems of all of them are reported together. */
export function readConfigs<T extends Record<string, Table>>(
  tables: T,
  env: NodeJS.ProcessEnv,
): { readonly [K in keyof T]: Values<T[K]> } {
  const problems = new Set<string>();
  const values: Record<string, unknown> = {};
  for (const [name, table] of Object.entries(tables)) {
    try {
      values[name] = readConfig(table, env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const problem of error.problems) problems.add(problem);
    }
  }
  if (problems.size > 0) throw new ConfigError([...problems]);
  return values as { readonly [K in keyof T]: Values<T[K]> };
}

export const text = shaped({ kind: 'text' }, (value: string): string => value);

export function integer(min: number, max: number) {
  return shaped({ kind: 'integer', min, max }, (value: string): number => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  });
}

/**
 * Declares a setting that is a whole number, by its default, its range and its help:
 *
 *     runSteps: wholeNumber(50, [1, 1000], 'maximum steps of one run'),
 */
export function wholeNumber(fallback: number, [min, max]: readonly [min: number, max: number], help: string) {
  return { help, parse: integer(min, max), fallback };
}

export function oneOf<const T extends string>(...choices: T[]) {
  return shaped({ kind: 'choice', choices }, (value: string): T => {
    if (!(choices as string[]).includes(value)) throw new Error(`must be one of ${choices.join(', ')}`);
    return value as T;
  });
}

export const flag = shaped({ kind: 'flag' }, (value: string): boolean => {
  if (['1', 'true', 'yes', 'on'].includes(value.toLowerCase())) return true;
  if (['0', 'false', 'no', 'off'].includes(value.toLowerCase())) return false;
  throw new Error('must be 1 or 0');
});

export function url(...schemes: string[]) {
  return shaped({ kind: 'url', schemes }, (value: string): string => {
    if (!URL.canParse(value) || !schemes.includes(new URL(value).protocol.slice(0, -1))) {
      throw new Error(`must be a URL with ${schemes.join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  });
}

/** Parses a URL of one or several servers: `mongodb://user:password@a:27017,b:27017/?replicaSet=rs0`. */
export function serversUrl(...schemes: string[]) {
  const check = url(...schemes);
  return (value: string): string => {
    const [, scheme = '', credentials = '', hosts = '', rest = ''] =
      /^([^:]+:\/\/)([^@/]*@)?([^/?]*)(.*)$/.exec(value) ?? [];
    // For schemes other than those of the web, a URL without a host is also valid.
    for (const host of hosts.split(',')) check(host === '' ? '' : `${scheme}${credentials}${host}${rest}`);
    return value.replace(/\/+$/, '');
  };
}

/** Parses comma-separated values. */
export function list(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
