import { invalidField } from '@commonplace/kit/errors';
import type Koa from 'koa';

/** Maximum characters of an Accept header; browsers send some 200. */
const MAX_CHARACTERS = 4096;

/**
 * Refuses long Accept headers. The library that reads them takes a time that grows with the square of the commas or
 * semicolons within quotes: 0.1 s for 60 KB.
 */
export function limitAccept(): Koa.Middleware {
  return ({ req }, next) => {
    if ((req.headers.accept?.length ?? 0) > MAX_CHARACTERS) {
      throw invalidField('Accept', 'invalid_value', `Accept has ${MAX_CHARACTERS} characters or fewer.`);
    }
    return next();
  };
}
