/** Returns a content type in lower case without parameters: `text/html` for `Text/HTML; charset=utf-8`. */
export function essenceOf(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** Whether an essence has the form of a content type (RFC 6838 §4.2). */
export function isType(essence: string): boolean {
  return TYPE.test(essence);
}
