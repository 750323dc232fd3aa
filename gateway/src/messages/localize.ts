import type { AppError, Fault } from '@commonplace/kit/errors';
import { GERMAN } from './de.js';
import { SPANISH } from './es.js';
import { FRENCH } from './fr.js';
import type { Messages } from './messages.js';

const LANGUAGES: Readonly<Record<string, Messages>> = { de: GERMAN, fr: FRENCH, es: SPANISH };

/** The languages in which errors can be told; English comes first, which is spoken where a client asks for none of them. */
export const ERROR_LANGUAGES: readonly string[] = ['en', ...Object.keys(LANGUAGES)];

/** Texts for people in an error. */
export interface ErrorTexts {
  readonly message: string;
  readonly faults: readonly Fault[];
}

/**
 * Returns an error's texts in a language. A text that the language has word for word is translated as it is; of any other,
 * the meaning of its code is told, so that nothing stays in English.
 */
export function localize({ message, reason, param, faults }: AppError, language: string): ErrorTexts {
  const messages = LANGUAGES[language];
  if (messages === undefined) return { message, faults };
  const tell = (text: string, code: string, about: string | undefined) => translate(messages, text, code, about);
  return {
    message: tell(message, reason, param),
    faults: faults.map((fault) => ({ ...fault, message: tell(fault.message, fault.code, fault.param) })),
  };
}

function translate(messages: Messages, text: string, code: string, param = ''): string {
  const isNamed = param !== '' && text.startsWith(`${param} `);
  const rule = translateRule(messages, isNamed ? text.slice(param.length + 1) : text);
  if (rule !== undefined) return isNamed ? `${param} ${rule}` : rule;
  const meaning = messages.codes[code] ?? text;
  return param === '' ? meaning : `${param}: ${meaning}`;
}

function translateRule(messages: Messages, text: string): string | undefined {
  for (const { pattern, template } of patternsOf(messages)) {
    const values = pattern.exec(text)?.groups;
    if (pattern.test(text)) return template.replace(/\{(\w+)\}/g, (_, name: string) => values?.[name] ?? '');
  }
  return undefined;
}

interface Pattern {
  readonly pattern: RegExp;
  readonly template: string;
}

const compiled = new Map<Messages, readonly Pattern[]>();

/** Returns the patterns of a language's rules, compiled once. */
function patternsOf(messages: Messages): readonly Pattern[] {
  let patterns = compiled.get(messages);
  if (patterns === undefined) {
    patterns = Object.entries(messages.rules).map(([text, template]) => ({ pattern: patternOf(text), template }));
    compiled.set(messages, patterns);
  }
  return patterns;
}

/** Returns the pattern of a rule's text. A number stands for a count or a limit; other names for any text of one line. */
function patternOf(text: string): RegExp {
  const source = text
    .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
    .replace(/\{(\w+)\}/g, (_, name: string) => `(?<${name}>${NUMBERS.has(name) ? '-?[\\d.]+' : '.{1,4000}'})`);
  return new RegExp(`^${source}$`);
}

const NUMBERS: ReadonlySet<string> = new Set(['least', 'most', 'count', 'version']);
