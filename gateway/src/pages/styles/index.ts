import { BASE, DOCS } from './base.js';
import { FORM } from './form.js';
import { PROSE, READER } from './reader.js';
import { TOKENS } from './tokens.js';

/** The style of all pages, in one file that a browser keeps. */
export const PAGES_CSS = [TOKENS, BASE, FORM, PROSE, READER, DOCS].join('');
