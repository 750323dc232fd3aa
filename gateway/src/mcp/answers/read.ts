import { cutBefore } from './cut.js';

/** The API's answer to an operation. */
export interface OperationAnswer {
  readonly data: Readonly<Record<string, unknown>>;
  readonly page?: Readonly<Record<string, unknown>>;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
  readonly request_id: string;
  /** The part of the content that was asked for; `data` is then without the content. */
  readonly part?: TextPart;
}

/** A part of a long text: it ends at character `end` of the `total` characters. */
export interface TextPart {
  readonly text: string;
  readonly end: number;
  readonly total: number;
}

/** The part of a long text that a tool shows. */
export interface AskedPart {
  readonly from: number;
  readonly chars: number;
}

/** How much of an answer a tool can show. */
export interface Shape {
  /** Number of characters of names and texts after which the rest of `data` is left out. */
  readonly maxChars: number;
  readonly part: AskedPart | undefined;
}

export interface ReadAnswer {
  readonly answer: OperationAnswer;
  /** Whether something was left out because of `maxChars`. */
  readonly isShortened: boolean;
}

/** Parses an answer, and leaves out what a tool can't show anyway. */
export function readAnswer(bytes: Buffer, { maxChars, part: asked }: Shape): ReadAnswer {
  const parsed = JSON.parse(bytes.toString('utf8')) as OperationAnswer;
  const { content: _, ...rest } = parsed.data;
  const budget = { left: maxChars, isShortened: false };
  const members = Object.entries(asked === undefined ? parsed.data : rest);
  const data = Object.fromEntries(members.map(([name, value]) => [name, shorten(value, budget)]));
  const part = asked && partOf(parsed.data, asked);
  return { answer: { ...parsed, data, ...(part && { part }) }, isShortened: budget.isShortened };
}

function partOf(data: OperationAnswer['data'], { from, chars }: AskedPart): TextPart {
  const { content = data } = data;
  const whole = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
  const end = cutBefore(whole, Math.min(from + chars, whole.length));
  return { text: whole.slice(from, end), end, total: whole.length };
}

interface Budget {
  left: number;
  isShortened: boolean;
}

/** Copies a value as far as its budget lasts. Numbers, flags and null are always kept. */
function shorten(value: unknown, budget: Budget): unknown {
  if (typeof value === 'string') return shortenText(value, budget);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) {
      if (isSpent(budget)) break;
      items.push(shorten(item, budget));
    }
    return items;
  }
  const members: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) {
    if (isSpent(budget)) break;
    budget.left -= name.length;
    members.push([name, shorten(member, budget)]);
  }
  return Object.fromEntries(members);
}

function shortenText(text: string, budget: Budget): string {
  const end = cutBefore(text, Math.min(text.length, Math.max(budget.left, 0)));
  budget.left -= text.length;
  if (end < text.length) budget.isShortened = true;
  return text.slice(0, end);
}

function isSpent(budget: Budget): boolean {
  if (budget.left > 0) return false;
  budget.isShortened = true;
  return true;
}
