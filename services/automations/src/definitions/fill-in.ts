import { renderTemplates, type Scope } from '../domain/templates.js';
import { ACTIONS } from './actions.js';
import { withTexts } from './config-texts.js';
import type { ActionType } from './records.js';

type Config = Readonly<Record<string, unknown>>;

/**
 * Returns the config of an action with its templates filled in, as its fields take them: values in a URL are encoded,
 * and fields that take only texts get texts. Throws `TemplateFault`.
 */
export function fillIn(type: ActionType, config: Config, scope: Scope): Config {
  return withTexts(type, renderTemplates(config, scope, { isUrl: (at) => takesUrl(type, at) }) as Config);
}

/** Returns whether a field of an action is a URL. */
export function takesUrl(type: ActionType, name: string): boolean {
  const { fields } = ACTIONS[type];
  return Object.hasOwn(fields, name) && fields[name]?.kind === 'url';
}
