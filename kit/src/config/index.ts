/**
 * Configuration is one table per service: variable, parser, default, one line of help. All problems
 * are reported together at start.
 */
export interface Setting<T> {
  readonly variable: string;
  readonly help: string;
  readonly parse: (text: string) => T;
  /** Absent: the variable is required. */
  readonly fallback?: T;
  /** Its value is never printed. */
  readonly secret?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds settings of any type.
export type Table = Record<string, Setting<any>>;
export type Values<T extends Table> = { readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : never };

/** Configuration that can't be used: every problem, one a line. Its process ends with code 78 (EX_CONFIG). */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

export const EX_CONFIG = 78;

/** Reads a table from the environment. Throws ConfigError with every problem at once. */
export function readConfig<T extends Table>(table: T, env: NodeJS.ProcessEnv): Values<T> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    const text = env[setting.variable];
    if (text === undefined || text === '') {
      if ('fallback' in setting) values[name] = setting.fallback;
      else problems.push(`${setting.variable} is not set: ${setting.help}`);
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

/** Reads several tables; the problems of all of them are reported together. */
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

/** The lines of `--help`. */
export function helpOf(table: Table): string {
  return Object.values(table)
    .map((setting) => {
      const fallback = 'fallback' in setting ? ` [${setting.secret ? 'secret' : shown(setting.fallback)}]` : '';
      return `  ${setting.variable.padEnd(36)} ${setting.help}${fallback}`;
    })
    .join('\n');
}

function shown(value: unknown): string {
  return value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
}

export const text = (value: string): string => value;

export function integer(min: number, max: number) {
  return (value: string): number => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  };
}

export function oneOf<const T extends string>(...choices: T[]) {
  return (value: string): T => {
    if (!(choices as string[]).includes(value)) throw new Error(`must be one of ${choices.join(', ')}`);
    return value as T;
  };
}

export function flag(value: string): boolean {
  if (['1', 'true', 'yes', 'on'].includes(value.toLowerCase())) return true;
  if (['0', 'false', 'no', 'off'].includes(value.toLowerCase())) return false;
  throw new Error('must be 1 or 0');
}

export function url(...schemes: string[]) {
  return (value: string): string => {
    if (!URL.canParse(value) || !schemes.includes(new URL(value).protocol.slice(0, -1))) {
      throw new Error(`must be a URL with ${schemes.join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  };
}

/** A URL of one server or of several: `mongodb://user:password@a:27017,b:27017/?replicaSet=rs0`. */
export function serversUrl(...schemes: string[]) {
  const check = url(...schemes);
  return (value: string): string => {
    const [, scheme = '', credentials = '', hosts = '', rest = ''] =
      /^([^:]+:\/\/)([^@/]*@)?([^/?]*)(.*)$/.exec(value) ?? [];
    // Without a host a URL of a scheme that is not the web's is one as well.
    for (const host of hosts.split(',')) check(host === '' ? '' : `${scheme}${credentials}${host}${rest}`);
    return value.replace(/\/+$/, '');
  };
}

/** Values separated by commas. */
export function list(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
