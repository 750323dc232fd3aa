// Imported by Node before jest: tells it what `@jest/globals` is, which by itself refuses to be loaded outside a realm
// of jest.
import { register } from 'node:module';

register('./resolve.mjs', import.meta.url);
