import { ConfigError, readConfigs, type Table, unknownSettings } from '@commonplace/kit/config';
import { allTables, hidden } from '../settings.js';
import { type Check, failed, ok, warning } from './check.js';

/** Checks that the settings of all services, or of the named ones, are valid. Its findings contain no values. */
export function configurationCheck(env: NodeJS.ProcessEnv, services: readonly string[]): Check {
  return {
    name: 'configuration',
    run: () => {
      const isChosen = (name: string) => services.length === 0 || name === 'process' || services.includes(name);
      const chosen = Object.entries(allTables).filter(([name]) => isChosen(name));
      const problems = problemsOf(Object.fromEntries(chosen.map(([name, table]) => [name, hidden(table)])), env);
      if (((env.COMMONPLACE_MONGODB_URL || '') === '') !== ((env.COMMONPLACE_NATS_URL || '') === '')) {
        problems.push('COMMONPLACE_MONGODB_URL and COMMONPLACE_NATS_URL go together: set both or neither');
      }
      const unknown = unknownVariables(env);
      const facts = { problems, unknown: unknown.map(({ name }) => name) };
      if (problems.length > 0) return failed(problems.join('; '), facts);
      const warnings = [
        ...(unknown.length > 0 ? [`no service reads ${unknown.map(nameWithSuggestion).join(', ')}`] : []),
        ...(isChosen('gateway') && lacksProxies(env) ? [NO_PROXIES] : []),
      ];
      if (warnings.length > 0) return warning(warnings.join('; '), facts);
      return ok('all settings can be read', facts);
    },
  };
}

/** Returns whether a proxy must be in front, because the product itself serves no https, and none is named. */
function lacksProxies({
  COMMONPLACE_PUBLIC_URL: url = '',
  COMMONPLACE_TRUSTED_PROXIES: proxies = '',
}: NodeJS.ProcessEnv) {
  return /^https:/i.test(url) && proxies === '';
}

const NO_PROXIES =
  'COMMONPLACE_PUBLIC_URL is https, which a proxy has to serve, but COMMONPLACE_TRUSTED_PROXIES names none: limits and ' +
  'the log take everybody behind it for one client';

function problemsOf(tables: Record<string, Table>, env: NodeJS.ProcessEnv): string[] {
  try {
    readConfigs(tables, env);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...error.problems];
  }
}

function unknownVariables(env: NodeJS.ProcessEnv) {
  const known = new Set(Object.values(allTables).flatMap((table) => Object.values(table).map((one) => one.variable)));
  return unknownSettings(env, known);
}

const nameWithSuggestion = ({ name, nearest }: ReturnType<typeof unknownVariables>[number]): string =>
  nearest === undefined ? name : `${name} (did you mean ${nearest}?)`;

/** Returns the values of invalid settings. They must not be shown, because they might be misplaced secrets. */
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
