// Runs a script of the bundle in a thread: the one whose path is the thread's first argument.
import { Bundle } from './bundle.js';

new Bundle().run(process.argv[2] as string);
