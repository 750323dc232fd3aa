export { ArrivedCall } from './arrived-call.js';
