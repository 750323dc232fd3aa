// All but the characters that JSON takes as they are: no controls, quote, backslash or surrogates, which may be alone.
const TO_ESCAPE = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** A string as JSON. Most need no escape: to look is twice as fast as `JSON.stringify`. */
export function quote(text: string): string {
  return TO_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

const NORMAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A time as JSON, with three digits and `Z` whatever the service wrote; null where it is none. */
export function quoteTime(text: string): string {
  if (NORMAL_TIME.test(text)) return `"${text}"`;
  const time = Date.parse(text);
  return Number.isNaN(time) ? 'null' : `"${new Date(time).toISOString()}"`;
}
