import { freshBundle, prepareForBundle } from './bundle.js';

const bundle = freshBundle();
if (bundle !== undefined) prepareForBundle();
await import(bundle ?? './embedded.js');
