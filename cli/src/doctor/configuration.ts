import { ConfigError, readConfigs, type Table } from '@commonplace/kit/config';
import { allTables, hidden } from '../settings.js';
import { type Check, failed, ok, warning } from './check.js';

/** Whether all settings can be used, of all services or of those named. No value is in what it says. */
export function configurationCheck(env: NodeJS.ProcessEnv, services: readonly string[]): Check {
  return {
    name: 'configuration',
    run: () => {
      const chosen = Object.entries(allTables).filter(([name]) => services.length === 0 || isRead(name, services));
      const problems = problemsOf(Object.fromEntries(chosen.map(([name, table]) => [name, hidden(table)])), env);
      if (((env.COMMONPLACE_MONGODB_URL || '') === '') !== ((env.COMMONPLACE_NATS_URL || '') === '')) {
        problems.push('COMMONPLACE_MONGODB_URL and COMMONPLACE_NATS_URL go together: set both or neither');
      }
      const strangers = strangersIn(env);
      const facts = { problems, unknown: strangers };
      if (problems.length > 0) return failed(problems.join('; '), facts);
      if (strangers.length > 0) return warning(`no service reads ${strangers.join(', ')}`, facts);
      return ok('all settings can be read', facts);
    },
  };
}

const isRead = (name: string, services: readonly string[]) => name === 'process' || services.includes(name);

function problemsOf(tables: Record<string, Table>, env: NodeJS.ProcessEnv): string[] {
  try {
    readConfigs(tables, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...error.problems];
  }
}

/** Variables of tests and tools. */
const NOT_SETTINGS = /^COMMONPLACE_(TEST|BENCH|TOOLS)/;

function strangersIn(env: NodeJS.ProcessEnv): string[] {
  const known = new Set(Object.values(allTables).flatMap((table) => Object.values(table).map((one) => one.variable)));
  return Object.keys(env).filter(
    (name) => name.startsWith('COMMONPLACE_') && !known.has(name) && !NOT_SETTINGS.test(name),
  );
}

/** The values of settings that can't be read: they may be anything, and are not to be shown. */
export function unreadableValues(env: NodeJS.ProcessEnv): string[] {
  const settings = Object.values(allTables).flatMap((table) => Object.values(table));
  return settings.flatMap(({ variable, parse }) => {
    const value = env[variable];
    if (value === undefined || value === '') return [];
    try {
      parse(value);
      return [];
    } catch {
      return [value];
    }
  });
}
