require('./bootstrap');
