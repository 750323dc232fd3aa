import { APPROVALS, BASE, DOCS } from './base.js';
import { FORM } from './form.js';
import { PROSE, READER } from './reader.js';
import { TOKENS } from './tokens.js';

/** Styles of all pages, in one file that browsers cache. */
export const PAGES_CSS = [TOKENS, BASE, FORM, PROSE, READER, DOCS, APPROVALS].join('');
