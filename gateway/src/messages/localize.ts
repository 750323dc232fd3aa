import type { AppError, Fault } from '@commonplace/kit/errors';
import { GERMAN } from './de.js';
import { SPANISH } from './es.js';
import { FRENCH } from './fr.js';
import type { Messages } from './messages.js';

const LANGUAGES: Readonly<Record<string, Messages>> = { de: GERMAN, fr: FRENCH, es: SPANISH };

/** Languages in which errors are available. English comes first and is the default if a client accepts none of them. */
export const ERROR_LANGUAGES: readonly string[] = ['en', ...Object.keys(LANGUAGES)];

/** The texts of an error that people read. */
export interface ErrorTexts {
  readonly message: string;
  readonly faults: readonly Fault[];
}

/**
 * Returns an error's texts in a language. A text with a translation of its own is translated word for word. Any other
 * text is replaced by the translated meaning of its error code, so that nothing stays in English.
 */
export function localize({ message, reason, param, faults }: AppError, language: string): ErrorTexts {
  const messages = LANGUAGES[language];
  if (messages === undefined) return { message, faults };
  const translateText = (text: string, code: string, about: string | undefined) =>
    translate(messages, text, code, about);
  return {
    message: translateText(message, reason, param),
    faults: faults.map((fault) => ({ ...fault, message: translateText(fault.message, fault.code, fault.param) })),
  };
}

function translate(messages: Messages, text: string, code: string, param = ''): string {
  const name = [`${param} `, `${param}: `].find((start) => param !== '' && text.startsWith(start)) ?? '';
  const rule = translateRule(messages, text.slice(name.length));
  if (rule !== undefined) return name + rule;
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

/** Returns the compiled patterns of a language's rules. They are compiled once. */
function patternsOf(messages: Messages): readonly Pattern[] {
  let patterns = compiled.get(messages);
  if (patterns === undefined) {
    patterns = Object.entries(messages.rules).map(([text, template]) => ({ pattern: patternOf(text), template }));
    compiled.set(messages, patterns);
  }
  return patterns;
}

/**
 * Returns the pattern that matches a rule's text. Placeholders for counts and limits match numbers; others match any
 * text of one line.
 */
function patternOf(text: string): RegExp {
  const source = text
    .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
    .replace(/\{(\w+)\}/g, (_, name: string) => `(?<${name}>${NUMBERS.has(name) ? '-?[\\d.]+' : '.{1,4000}'})`);
  return new RegExp(`^${source}$`);
}

const NUMBERS: ReadonlySet<string> = new Set(['least', 'most', 'count', 'version']);
