import { invalidField } from '@commonplace/kit/errors';
import type Koa from 'koa';

/** Maximum characters of each header that negotiates; browsers send some 200. */
const MAX_CHARACTERS = 4096;

const HEADERS = ['Accept', 'Accept-Language'] as const;

/**
 * Refuses long Accept and Accept-Language headers. The library that reads them takes a time that grows with the square
 * of the commas or semicolons within quotes (0.1 s for 60 KB), and sorts the languages. It must not read them for the
 * refusal either, so they are removed.
 */
export function limitAccept(): Koa.Middleware {
  return ({ req: { headers } }, next) => {
    const [first, ...others] = HEADERS.filter((name) => (headers[nameOf(name)]?.length ?? 0) > MAX_CHARACTERS);
    if (first === undefined) return next();
    for (const name of [first, ...others]) delete headers[nameOf(name)];
    throw invalidField(first, 'invalid_value', `${first} has ${MAX_CHARACTERS} characters or fewer.`);
  };
}

const nameOf = (header: (typeof HEADERS)[number]) => header.toLowerCase() as 'accept' | 'accept-language';
